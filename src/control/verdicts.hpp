#pragma once

#include <string>

#include <smg/control/access_guard.hpp>

/// The verdicts on calls of the control plane.
namespace smg::control {

/// 401: the credential is missing or no good, as `message` says.
[[nodiscard]] Verdict unauthorized(std::string message);

/// Passes an administrator; 403 for everybody else.
[[nodiscard]] Verdict admin_only(Principal principal);

/// 503: a token cannot be judged now. The plane stays closed (ruling 27).
[[nodiscard]] Verdict keys_unavailable();

}  // namespace smg::control
