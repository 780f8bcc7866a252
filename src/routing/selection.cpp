#include <algorithm>

#include <smg/routing/selection.hpp>

namespace smg::routing {
namespace {

bool contains(std::span<Worker* const> workers, const Worker* worker) noexcept {
  return std::find(workers.begin(), workers.end(), worker) != workers.end();
}

std::vector<Worker*> eligible_workers(const ModelPool& pool, std::span<Worker* const> avoid,
                                      TimePoint now) {
  std::vector<Worker*> eligible;
  eligible.reserve(pool.workers.size());
  for (Worker* worker : pool.workers) {
    if (worker->healthy() && worker->breaker().available(now)) eligible.push_back(worker);
  }
  const auto untried = std::count_if(eligible.begin(), eligible.end(),
                                     [&](Worker* w) { return !contains(avoid, w); });
  if (untried > 0 && !avoid.empty()) {
    std::erase_if(eligible, [&](Worker* w) { return contains(avoid, w); });
  }
  return eligible;
}

/// Whole seconds until the state of some worker can change: its breaker, or at its next health
/// check.
int seconds_until_change(const ModelPool& pool, TimePoint now) {
  auto soonest = std::chrono::seconds(3600);
  for (const Worker* worker : pool.workers) {
    auto wait = worker->facts().health.interval;
    if (worker->healthy()) {
      // A healthy worker whose breaker is not open has all its trials under way: one may end any
      // moment.
      const auto at = worker->breaker().reopens_at().value_or(now);
      wait = std::chrono::ceil<std::chrono::seconds>(at - now);
    }
    soonest = std::min(soonest, wait);
  }
  return static_cast<int>(std::max<std::chrono::seconds::rep>(soonest.count(), 1));
}

}  // namespace

Result<std::unique_ptr<Selection>> select_worker(const WorkerTable& table, const ModelPool& pool,
                                                 const RoutingRequest& request,
                                                 std::span<Worker* const> avoid, TimePoint now) {
  RoutingRequest filled = request;
  filled.now = now;
  filled.pool = &pool;
  const auto target = pool.policy->target(pool.workers, filled);
  if (!target) return target.error();
  auto eligible =
      eligible_workers(pool, *target == nullptr ? avoid : std::span<Worker* const>(), now);
  if (*target != nullptr) std::erase_if(eligible, [&](Worker* w) { return w != *target; });
  while (!eligible.empty()) {
    Worker* const picked = pool.policy->pick(eligible, filled);
    if (picked == nullptr) break;
    if (const auto permit = picked->breaker().admit(now)) {
      const auto& all = table.workers();
      const auto owner = std::find_if(all.begin(), all.end(),
                                      [&](const WorkerPtr& w) { return w.get() == picked; });
      picked->board().count_dispatch(request.tokens.size());
      return std::make_unique<Selection>(*owner, *permit, pool.policy->hold(*picked, filled));
    }
    std::erase(eligible, picked);
  }
  GatewayError none = fail(ErrorCode::NoAvailableWorkers,
                           "All workers are unavailable (circuit breaker open or unhealthy)");
  none.retry_after_seconds = seconds_until_change(pool, now);
  return none;
}

}  // namespace smg::routing
