#include "control/verdicts.hpp"

#include <smg/base/result.hpp>

namespace smg::control {

Verdict unauthorized(std::string message) {
  Verdict verdict;
  verdict.refusal = fail(ErrorCode::Unauthorized, std::move(message));
  verdict.challenge = R"(Bearer realm="control-plane")";
  verdict.hides_credential = true;
  return verdict;
}

Verdict admin_only(Principal principal) {
  Verdict verdict;
  if (principal.role != config::Role::Admin) {
    verdict.refusal = fail(ErrorCode::Forbidden, "Admin role required for control plane access");
  }
  verdict.principal = std::move(principal);
  verdict.hides_credential = true;
  return verdict;
}

Verdict keys_unavailable() {
  constexpr int kRetryAfterSeconds = 10;
  Verdict verdict;
  verdict.refusal = fail(ErrorCode::NoTokenKeys, "The keys of the token issuer are not available");
  verdict.refusal->retry_after_seconds = kRetryAfterSeconds;
  verdict.hides_credential = true;
  return verdict;
}

}  // namespace smg::control
