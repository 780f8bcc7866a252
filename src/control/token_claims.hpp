#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include <smg/config/access.hpp>
#include <smg/control/access_guard.hpp>

namespace smg::control {

/// Whom the claims of a token speak for, its signature being good.
struct JudgedClaims {
  std::optional<Principal> principal;  ///< nothing: the token is no good
  std::string_view fault;              ///< why, in words that repeat nothing of the token
};

/// Judges claims, an object of JSON, at `now` (RFC 7519 4.1, RFC 8725 3.9; spec, shell 5.2): `exp`
/// is required, `nbf` is honoured, both with 30 seconds of leeway; `iss` must be the configured
/// issuer and `aud` must be or contain the configured audience. The role is the best one that the
/// first of the claims roles, role, groups and group gives by the mapping, or without a mapping by
/// the words admin and user; else user.
[[nodiscard]] JudgedClaims judge_claims(std::string_view json, const config::Access& settings,
                                        std::chrono::system_clock::time_point now);

}  // namespace smg::control
