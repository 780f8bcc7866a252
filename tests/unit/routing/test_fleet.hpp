#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <smg/observability/metrics.hpp>
#include <smg/routing/worker_table.hpp>

namespace smg::routing {

/// What selection knows failed workers by.
inline std::vector<std::uint32_t> serials_of(const std::vector<Worker*>& workers) {
  std::vector<std::uint32_t> serials;
  for (const Worker* worker : workers) serials.push_back(worker->serial());
  return serials;
}

/// Workers with facts of the test's choice, all ready, and tables of them.
class TestFleet {
 public:
  Worker& add(config::CircuitBreaker breaker = {},
              config::Seconds health_interval = config::Seconds{60}) {
    WorkerFacts facts;
    facts.id = "w" + std::to_string(workers.size());
    facts.url = "http://" + facts.id;
    facts.circuit_breaker = breaker;
    facts.health.interval = health_interval;
    auto series = metrics.open_worker_series(facts.url);
    workers.push_back(std::make_shared<Worker>(std::move(facts), nullptr, std::move(series)));
    workers.back()->set_status(WorkerStatus::Ready);
    return *workers.back();
  }

  [[nodiscard]] std::vector<Worker*> pointers() const {
    std::vector<Worker*> all;
    for (const auto& worker : workers) all.push_back(worker.get());
    return all;
  }

  /// All workers serve one model, `m`.
  [[nodiscard]] WorkerTable table(std::string_view policy = "round_robin") const {
    std::map<std::string, ModelPool, std::less<>> pools;
    pools["m"] = ModelPool{"m", pointers(), make_policy(policy), nullptr};
    pools[""] = ModelPool{"", pointers(), pools["m"].policy, nullptr};
    return WorkerTable(workers, std::move(pools), {});
  }

  observability::Metrics metrics{{1.0}, "test"};
  std::vector<WorkerPtr> workers;
};

}  // namespace smg::routing
