#include <algorithm>

#include <smg/routing/selection.hpp>

namespace smg::routing {
namespace {

bool contains(std::span<Worker* const> workers, const Worker* worker) noexcept {
  return std::find(workers.begin(), workers.end(), worker) != workers.end();
}

struct Candidates {
  std::vector<Worker*> eligible;
  /// Until the next load report of one that is left out for its load alone; none: nobody is.
  std::optional<std::chrono::seconds> relief;
};

Candidates find_candidates(std::span<Worker* const> workers, std::span<Worker* const> avoid,
                           TimePoint now) {
  Candidates found;
  auto& eligible = found.eligible;
  eligible.reserve(workers.size());
  for (Worker* worker : workers) {
    if (!worker->healthy() || !worker->breaker().available(now)) continue;
    if (is_overloaded(*worker, now)) {
      const auto interval = worker->facts().load.interval;
      found.relief = std::min(found.relief.value_or(interval), interval);
    } else {
      eligible.push_back(worker);
    }
  }
  const auto untried = std::count_if(eligible.begin(), eligible.end(),
                                     [&](Worker* w) { return !contains(avoid, w); });
  if (untried > 0 && !avoid.empty()) {
    std::erase_if(eligible, [&](Worker* w) { return contains(avoid, w); });
  }
  return found;
}

GatewayError all_overloaded(const ModelPool& pool, std::chrono::seconds relief) {
  const std::string model = pool.model.empty() ? "unknown" : pool.model;
  GatewayError error =
      fail(ErrorCode::WorkersOverloaded, "All workers for model '" + model + "' are overloaded");
  error.retry_after_seconds =
      static_cast<int>(std::max<std::chrono::seconds::rep>(relief.count(), 1));
  return error;
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

bool is_overloaded(const Worker& worker, TimePoint now) noexcept {
  const auto& limits = worker.facts().load.overload;
  if (!limits.any()) return false;
  const auto report = worker.board().report(now);
  return report && limits.reached_by(*report);
}

Result<std::unique_ptr<Selection>> select_worker(const WorkerTable& table, const ModelPool& pool,
                                                 const RoutingRequest& request,
                                                 std::span<Worker* const> avoid, TimePoint now) {
  RoutingRequest filled = request;
  filled.now = now;
  filled.pool = &pool;
  const auto target = pool.policy->target(pool.workers, filled);
  if (!target) return target.error();
  const bool named = *target != nullptr;
  auto candidates = find_candidates(named ? std::span<Worker* const>(&*target, 1) : pool.workers,
                                    named ? std::span<Worker* const>() : avoid, now);
  auto& eligible = candidates.eligible;
  if (eligible.empty() && candidates.relief) return all_overloaded(pool, *candidates.relief);
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
