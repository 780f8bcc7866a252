#include "control/health_monitor.hpp"

#include <algorithm>

#include "control/worker_probe.hpp"
#include <smg/observability/log.hpp>

namespace smg::control {
namespace {

constexpr net::Duration kShortestInterval = std::chrono::seconds(1);

}  // namespace

net::Task<> watch_health(std::shared_ptr<CancelScope> scope, HealthSubject subject,
                         observability::Metrics& metrics) {
  const auto& facts = subject.worker->facts();
  const auto& settings = facts.health;
  const net::Duration interval = std::max<net::Duration>(settings.interval, kShortestInterval);
  HealthState state(settings.failure_threshold, settings.success_threshold,
                    subject.worker->status());
  auto next = net::Clock::now();
  while (!scope->cancelled()) {
    HealthQuestion question{settings.endpoint, facts.api_key, settings.timeout};
    const auto result =
        co_await check_health(*scope, subject.worker->shared_pool(), std::move(question));
    if (scope->cancelled()) co_return;
    // Running out of descriptors is our own fault and says nothing of the worker (ruling 30).
    const bool says_nothing = !result && result.error().code == ErrorCode::LocalResources;
    observability::log_debug(
        "worker health checked",
        {{"worker", facts.url}, {"failure", result ? std::string() : result.error().message}});
    if (!says_nothing) {
      metrics.count_health_check(name_of(subject.worker->facts().pd.role), result.has_value());
      if (const auto status = state.record(result.has_value())) subject.changed(*status);
    }
    next = std::max(next + interval, net::Clock::now());
    co_await scope->sleep(next - net::Clock::now());
  }
}

}  // namespace smg::control
