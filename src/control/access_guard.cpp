#include <algorithm>
#include <vector>

#include "control/secret_digest.hpp"
#include "control/verdicts.hpp"
#include "control/web_keys.hpp"
#include <smg/base/result.hpp>
#include <smg/base/text.hpp>
#include <smg/control/access_guard.hpp>

namespace smg::control {
namespace {

constexpr std::string_view kDataChallenge = R"(Bearer realm="gateway")";

struct ControlKeyDigest {
  SecretDigest digest;
  Principal principal;
};

Principal gateway_principal() {
  return {"api-key", AuthMethod::ApiKey, config::Role::Admin};
}

}  // namespace

struct AccessGuard::Keys {
  std::optional<SecretDigest> gateway;
  std::vector<ControlKeyDigest> control;
  bool tokens = false;

  [[nodiscard]] bool guard_control() const noexcept { return tokens || !control.empty(); }

  /// Compares with all of them, so that the time does not tell which one it was.
  [[nodiscard]] const Principal* find_control(std::string_view credential) const {
    const Principal* found = nullptr;
    const SecretDigest digest(credential);
    for (const auto& key : control) {
      if (key.digest.matches(digest)) found = &key.principal;
    }
    return found;
  }

  /// The credential is a key of the control plane, on its way to a worker.
  [[nodiscard]] bool is_misplaced(std::string_view credential) const {
    return !control.empty() && !credential.empty() && find_control(credential) != nullptr;
  }
};

std::string_view name_of(AuthMethod method) noexcept {
  switch (method) {
    case AuthMethod::ApiKey: return "api_key";
    case AuthMethod::Jwt: return "jwt";
    case AuthMethod::None: break;
  }
  return "none";
}

AccessGuard::AccessGuard(const config::Access& settings) {
  auto keys = std::make_unique<Keys>();
  if (!settings.api_key.empty()) keys->gateway.emplace(settings.api_key);
  keys->tokens = !settings.jwt_issuer.empty();
  for (const auto& key : settings.control_keys) {
    keys->control.push_back({SecretDigest(key.key), {key.id, AuthMethod::ApiKey, key.role}});
  }
  keys_ = std::move(keys);
}

AccessGuard::~AccessGuard() = default;

Verdict AccessGuard::check(const http::RequestHead& head) const {
  if (!keys_->gateway && !keys_->guard_control()) return {};
  const RouteClass its_class = route_class(head.path);
  if (its_class == RouteClass::Control && keys_->guard_control()) return check_control(head);
  Verdict verdict;
  if (!keys_->gateway) {
    verdict.hides_credential = keys_->is_misplaced(credential_of(head));
    return verdict;
  }
  // Workers are shown a key of ours (spec 5.3), on open routes too.
  verdict.hides_credential = true;
  if (its_class == RouteClass::Open) return verdict;
  const auto credential = credential_of(head);
  if (!credential.empty() && keys_->gateway->matches(SecretDigest(credential))) {
    verdict.principal = gateway_principal();
  } else {
    verdict.refusal = fail(ErrorCode::Unauthorized);
    verdict.challenge = kDataChallenge;
  }
  return verdict;
}

Verdict AccessGuard::check_control(const http::RequestHead& head) const {
  const auto credential = credential_of(head);
  if (credential.empty()) return unauthorized("Missing or invalid Authorization header");
  if (keys_->tokens && looks_like_token(credential)) {
    Verdict undecided;
    undecided.wants_token_check = true;
    return undecided;
  }
  const Principal* principal = keys_->find_control(credential);
  if (principal == nullptr) return unauthorized("Invalid authentication token");
  return admin_only(*principal);
}

std::string_view credential_of(const http::RequestHead& head) noexcept {
  constexpr std::string_view kScheme = "Bearer ";
  const auto* field = head.find("authorization");
  if (field == nullptr) return head.value("x-api-key");
  if (!text::starts_with_ignoring_case(field->value, kScheme)) return {};
  return field->value.substr(kScheme.size());
}

}  // namespace smg::control
