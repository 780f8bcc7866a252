#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace smg::config {

/// What a caller of the control plane may do there: users nothing, as yet.
enum class Role : std::uint8_t { User, Admin };

/// `user` or `admin`; nothing for other words.
[[nodiscard]] constexpr std::optional<Role> role_named(std::string_view word) noexcept {
  if (word == "admin") return Role::Admin;
  return word == "user" ? std::optional(Role::User) : std::nullopt;
}

[[nodiscard]] constexpr std::string_view name_of(Role role) noexcept {
  return role == Role::Admin ? "admin" : "user";
}

/// A key of the control plane.
struct ControlKey {
  std::string id;
  std::string name;
  Role role = Role::User;
  std::string key;  ///< a secret
};

/// Who may call what (spec, shell section 5).
struct Access {
  std::string api_key;  ///< --api-key, a secret; empty: nobody is asked for one
  /// --cors-allowed-origins; empty or with a `*`: pages of any origin may call.
  std::vector<std::string> cors_allowed_origins;
  std::vector<ControlKey> control_keys;  ///< --control-plane-api-keys
  std::string jwt_issuer;                ///< --jwt-issuer; empty: no tokens
  std::string jwt_audience;              ///< --jwt-audience, goes with the issuer
  std::string jwt_jwks_uri;  ///< --jwt-jwks-uri; empty: as the issuer's discovery document says
  std::map<std::string, Role> jwt_roles;  ///< --jwt-role-mapping: theirs to ours; empty: the same
  bool audit = false;                     ///< --control-plane-audit-enabled
};

}  // namespace smg::config
