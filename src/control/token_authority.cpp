#include "control/issuer_keys.hpp"
#include "control/token_claims.hpp"
#include "control/verdicts.hpp"
#include <smg/control/token_authority.hpp>

namespace smg::control {
namespace {

Verdict invalid(std::string_view fault) {
  return unauthorized("Invalid JWT: " + std::string(fault));
}

Verdict verdict_on_claims(std::string_view claims, const config::Access& settings) {
  auto judged = judge_claims(claims, settings, std::chrono::system_clock::now());
  return judged.principal ? admin_only(std::move(*judged.principal)) : invalid(judged.fault);
}

}  // namespace

TokenAuthority::TokenAuthority(const config::GatewayConfig& config, net::IoThreads& threads,
                               upstream::PoolDirectory& pools)
    : settings_(config.access), keys_(std::make_unique<IssuerKeys>(config, threads, pools)) {}

TokenAuthority::~TokenAuthority() = default;

void TokenAuthority::start() {
  if (!settings_.jwt_issuer.empty()) keys_->prefetch();
}

net::Task<> TokenAuthority::stop() {
  return keys_->stop();
}

net::Task<Verdict> TokenAuthority::judge(std::string_view token, net::IoThread& thread,
                                         net::AbortSwitch& abort) {
  auto keys = co_await keys_->current(thread, abort);
  if (!keys) co_return keys_unavailable();
  auto checked = keys->check(token);
  if (checked.unknown_key) {
    const auto newer = co_await keys_->newer_than(std::move(keys), thread, abort);
    if (newer) checked = newer->check(token);
  }
  if (!checked.payload) co_return invalid(checked.fault);
  co_return verdict_on_claims(*checked.payload, settings_);
}

}  // namespace smg::control
