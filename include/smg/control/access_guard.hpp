#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <smg/base/error.hpp>
#include <smg/config/access.hpp>
#include <smg/control/route_class.hpp>
#include <smg/http/message.hpp>

namespace smg::control {

enum class AuthMethod : std::uint8_t { None, ApiKey, Jwt };

/// `none`, `api_key`, `jwt`.
[[nodiscard]] std::string_view name_of(AuthMethod method) noexcept;

/// Who sent a request.
struct Principal {
  std::string id = "unauthenticated";  ///< of a key, or a token's subject
  AuthMethod method = AuthMethod::None;
  std::optional<config::Role> role{};
};

/// What is made of a request's credential.
struct Verdict {
  Principal principal{};
  std::optional<GatewayError> refusal;  ///< nothing: the request may pass
  std::string_view challenge;           ///< the value of WWW-Authenticate, with a 401
  /// The credential is the gateway's business: no worker may see it.
  bool hides_credential = false;
  /// Nothing has been judged: the credential is a token, for TokenAuthority.
  bool wants_token_check = false;
};

/// Decides who may call what (spec, shell 5.1 and 5.2): pure logic, thread-safe.
class AccessGuard {
 public:
  explicit AccessGuard(const config::Access& settings);
  ~AccessGuard();
  AccessGuard(const AccessGuard&) = delete;
  AccessGuard& operator=(const AccessGuard&) = delete;

  /// Judges a request by its head alone, before anything else is done about it.
  [[nodiscard]] Verdict check(const http::RequestHead& head) const;

 private:
  struct Keys;

  [[nodiscard]] Verdict check_control(const http::RequestHead& head) const;

  std::unique_ptr<const Keys> keys_;
};

/// The credential that a request presents, empty without one: what follows `Bearer`, in any case,
/// and one blank in the first Authorization field; only without such a field, the first x-api-key,
/// in which Anthropic's clients send it (ruling 26).
[[nodiscard]] std::string_view credential_of(const http::RequestHead& head) noexcept;

}  // namespace smg::control
