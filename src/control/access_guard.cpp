#include "control/secret_digest.hpp"
#include <smg/base/result.hpp>
#include <smg/base/text.hpp>
#include <smg/control/access_guard.hpp>

namespace smg::control {
namespace {

constexpr std::string_view kDataChallenge = R"(Bearer realm="gateway")";

}  // namespace

struct AccessGuard::Keys {
  std::optional<SecretDigest> gateway;
};

AccessGuard::AccessGuard(const config::Access& settings) {
  auto keys = std::make_unique<Keys>();
  if (!settings.api_key.empty()) keys->gateway.emplace(settings.api_key);
  keys_ = std::move(keys);
}

AccessGuard::~AccessGuard() = default;

Verdict AccessGuard::check(const http::RequestHead& head) const {
  Verdict verdict;
  if (!keys_->gateway) return verdict;
  // Workers are shown a key of ours (spec 5.3), on open routes too.
  verdict.hides_credential = true;
  if (route_class(head.path) == RouteClass::Open) return verdict;
  const auto credential = credential_of(head);
  if (credential.empty() || !keys_->gateway->matches(SecretDigest(credential))) {
    verdict.refusal = fail(ErrorCode::Unauthorized);
    verdict.challenge = kDataChallenge;
  }
  return verdict;
}

std::string_view credential_of(const http::RequestHead& head) noexcept {
  constexpr std::string_view kScheme = "Bearer ";
  const auto* field = head.find("authorization");
  if (field == nullptr) return head.value("x-api-key");
  if (!text::starts_with_ignoring_case(field->value, kScheme)) return {};
  return field->value.substr(kScheme.size());
}

}  // namespace smg::control
