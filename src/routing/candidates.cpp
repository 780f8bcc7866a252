#include "routing/candidates.hpp"

#include <algorithm>
#include <iterator>

namespace smg::routing {
namespace {

/// Takes out and returns those with a serial in `avoid`, unless nobody else is left.
std::vector<Worker*> keep_back(std::vector<Worker*>& eligible,
                               std::span<const std::uint32_t> avoid) {
  if (avoid.empty()) return {};
  const auto tried = [&](const Worker* worker) {
    return std::find(avoid.begin(), avoid.end(), worker->serial()) != avoid.end();
  };
  std::vector<Worker*> kept_back;
  std::copy_if(eligible.begin(), eligible.end(), std::back_inserter(kept_back), tried);
  if (kept_back.size() == eligible.size()) return {};
  std::erase_if(eligible, tried);
  return kept_back;
}

}  // namespace
Candidates find_candidates(std::span<Worker* const> workers, TimePoint now) {
  Candidates found;
  found.eligible.reserve(workers.size());
  for (Worker* worker : workers) {
    if (!worker->healthy() || !worker->breaker().available(now)) continue;
    if (is_overloaded(*worker, now)) {
      const auto interval = worker->facts().load.interval;
      found.relief = std::min(found.relief.value_or(interval), interval);
    } else {
      found.eligible.push_back(worker);
    }
  }
  return found;
}

std::unique_ptr<Selection> admit_one(const WorkerTable& table, std::vector<Worker*> eligible,
                                     std::span<const std::uint32_t> avoid, RoutingRequest request) {
  const auto kept_back = keep_back(eligible, avoid);
  request.kept_back = kept_back;
  Policy& policy = *request.pool->policy;
  while (!eligible.empty()) {
    Worker* const picked = policy.pick(eligible, request);
    if (picked == nullptr) break;
    if (const auto permit = picked->breaker().admit(request.now)) {
      const auto& all = table.workers();
      const auto owner = std::find_if(all.begin(), all.end(),
                                      [&](const WorkerPtr& w) { return w.get() == picked; });
      picked->board().count_dispatch(request.tokens.size());
      return std::make_unique<Selection>(*owner, *permit, policy.hold(*picked, request));
    }
    std::erase(eligible, picked);
  }
  return nullptr;
}

int seconds_until_change(std::span<Worker* const> workers, TimePoint now) {
  if (workers.empty()) return 1;
  auto soonest = std::chrono::seconds(3600);
  for (const Worker* worker : workers) {
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

GatewayError all_overloaded(const std::string& model, std::chrono::seconds relief) {
  GatewayError error =
      fail(ErrorCode::WorkersOverloaded,
           "All workers for model '" + (model.empty() ? "unknown" : model) + "' are overloaded");
  error.retry_after_seconds =
      static_cast<int>(std::max<std::chrono::seconds::rep>(relief.count(), 1));
  return error;
}

}  // namespace smg::routing
