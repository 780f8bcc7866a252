#include "routing/candidates.hpp"
#include <smg/routing/selection.hpp>

namespace smg::routing {

bool is_overloaded(const Worker& worker, TimePoint now) noexcept {
  const auto& limits = worker.facts().load.overload;
  if (!limits.any()) return false;
  const auto report = worker.board().report(now);
  return report && limits.reached_by(*report);
}

Result<std::unique_ptr<Selection>> select_worker(const WorkerTable& table, const ModelPool& pool,
                                                 const RoutingRequest& request,
                                                 std::span<const std::uint32_t> avoid,
                                                 TimePoint now) {
  RoutingRequest filled = request;
  filled.now = now;
  filled.pool = &pool;
  const auto target = pool.policy->target(pool.workers, filled);
  if (!target) return target.error();
  const bool named = *target != nullptr;
  const std::span<Worker* const> choice =
      named ? std::span<Worker* const>(&*target, 1) : pool.workers;
  auto candidates = find_candidates(choice, now);
  if (candidates.eligible.empty() && candidates.relief) {
    return all_overloaded(pool.model, *candidates.relief);
  }
  if (auto selection = admit_one(table, std::move(candidates.eligible), avoid, filled)) {
    return selection;
  }
  GatewayError none = fail(ErrorCode::NoAvailableWorkers,
                           "All workers are unavailable (circuit breaker open or unhealthy)");
  none.retry_after_seconds = seconds_until_change(choice, now);
  return none;
}

}  // namespace smg::routing
