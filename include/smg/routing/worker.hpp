#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <smg/config/gateway_config.hpp>
#include <smg/observability/worker_series.hpp>
#include <smg/routing/breaker_statuses.hpp>
#include <smg/routing/circuit_breaker.hpp>
#include <smg/routing/data_parallel.hpp>
#include <smg/routing/load_report.hpp>
#include <smg/routing/pd_pairing.hpp>
#include <smg/routing/worker_status.hpp>

namespace smg::upstream {
class HostPool;
}

namespace smg::routing {

/// A model that a worker serves: the canonical id, and further names that clients may use for it.
struct ServedModel {
  std::string id;
  std::vector<std::string> aliases;
};

/// What is fixed about a worker from its registration on.
struct WorkerFacts {
  std::string id;   ///< a UUID
  std::string url;  ///< normalised
  std::vector<ServedModel> models;
  std::map<std::string, std::string> labels;
  std::string api_key;  ///< a secret: sent to the worker only
  std::string runtime_type = "unspecified";
  std::uint32_t priority = 50;
  double cost = 1.0;
  bool http2 = false;         ///< HTTP/2 was chosen for it; not so where TLS negotiates
  bool mutates_body = false;  ///< a data-parallel rank is written into its requests
  config::Seconds request_timeout{1800};
  config::Seconds drain_settle{5};
  config::Health health;
  config::CircuitBreaker circuit_breaker;
  BreakerStatuses breaker_statuses;
  LoadSettings load;
  std::optional<DataParallelRank> rank;
  PdFacts pd;
};

/// What is in flight at a worker through this gateway: apart from what is read for every request.
struct alignas(64) InFlight {
  std::atomic<std::uint32_t> requests{0};
  std::atomic<std::uint32_t> keys{0};
};

/// What else changes about a worker while it serves, shared by all io threads.
struct WorkerState {
  WorkerState(const config::CircuitBreaker& settings,
              std::unique_ptr<observability::WorkerSeries> worker_series)
      : series(std::move(worker_series)), breaker(settings, *series) {}

  const std::unique_ptr<observability::WorkerSeries> series;
  CircuitBreaker breaker;
  std::atomic<WorkerStatus> status{WorkerStatus::Pending};
  const std::uint32_t serial = next_serial();
  LoadBoard board;

 private:
  [[nodiscard]] static std::uint32_t next_serial() noexcept {
    static std::atomic<std::uint32_t> next{0};
    return next.fetch_add(1, std::memory_order_relaxed);
  }
};

/// A registered worker: fixed facts, and the state that all io threads share. Thread-safe.
class Worker {
 public:
  /// `predecessor`: the worker registered before under the same URL, or nullptr. What is in flight
  /// at it is in flight at this one: it is the same engine.
  Worker(WorkerFacts facts, std::shared_ptr<upstream::HostPool> pool,
         std::unique_ptr<observability::WorkerSeries> series, const Worker* predecessor = nullptr)
      : facts_(std::move(facts)),
        pool_(std::move(pool)),
        state_(std::make_shared<WorkerState>(facts_.circuit_breaker, std::move(series))),
        in_flight_(predecessor != nullptr ? predecessor->in_flight_
                                          : std::make_shared<InFlight>()) {}

  /// The same worker with changed facts: connections, status, breaker and requests in flight go on.
  Worker(WorkerFacts facts, const Worker& predecessor)
      : facts_(std::move(facts)),
        pool_(predecessor.pool_),
        state_(predecessor.state_),
        in_flight_(predecessor.in_flight_) {}

  [[nodiscard]] const WorkerFacts& facts() const noexcept { return facts_; }
  [[nodiscard]] const std::string& url() const noexcept { return facts_.url; }
  [[nodiscard]] upstream::HostPool& pool() const noexcept { return *pool_; }
  [[nodiscard]] const std::shared_ptr<upstream::HostPool>& shared_pool() const noexcept {
    return pool_;
  }
  [[nodiscard]] CircuitBreaker& breaker() noexcept { return state_->breaker; }
  [[nodiscard]] const CircuitBreaker& breaker() const noexcept { return state_->breaker; }

  [[nodiscard]] WorkerStatus status() const noexcept {
    return state_->status.load(std::memory_order_relaxed);
  }
  void set_status(WorkerStatus status) noexcept {
    state_->status.store(status, std::memory_order_relaxed);
    state_->series->set_health(status == WorkerStatus::Ready);
  }
  [[nodiscard]] bool healthy() const noexcept { return status() == WorkerStatus::Ready; }
  /// Requests in flight through this gateway.
  [[nodiscard]] std::uint32_t load() const noexcept {
    return in_flight_->requests.load(std::memory_order_relaxed);
  }
  /// Sticky keys with a request in flight at this worker; policies count it.
  [[nodiscard]] std::atomic<std::uint32_t>& active_keys() noexcept { return in_flight_->keys; }
  /// Shared by all that have been registered in turn under the URL.
  [[nodiscard]] const InFlight& in_flight() const noexcept { return *in_flight_; }
  [[nodiscard]] auto& series() const noexcept { return *state_->series; }  ///< for a scrape
  [[nodiscard]] LoadBoard& board() noexcept { return state_->board; }
  [[nodiscard]] const LoadBoard& board() const noexcept { return state_->board; }
  /// Tells workers apart as long as the process runs, also under the same URL; survives a change of
  /// facts.
  [[nodiscard]] std::uint32_t serial() const noexcept { return state_->serial; }

 private:
  friend class LoadGuard;

  const WorkerFacts facts_;
  const std::shared_ptr<upstream::HostPool> pool_;
  const std::shared_ptr<WorkerState> state_;
  const std::shared_ptr<InFlight> in_flight_;
};

using WorkerPtr = std::shared_ptr<Worker>;

/// Counts one request in flight for as long as it lives.
class LoadGuard {
 public:
  explicit LoadGuard(Worker& worker) noexcept : worker_(worker) {
    worker_.in_flight_->requests.fetch_add(1, std::memory_order_relaxed);
    worker_.state_->series->request_began();
  }
  ~LoadGuard() {
    worker_.state_->series->request_ended();
    worker_.in_flight_->requests.fetch_sub(1, std::memory_order_relaxed);
  }
  LoadGuard(const LoadGuard&) = delete;
  LoadGuard& operator=(const LoadGuard&) = delete;

 private:
  Worker& worker_;
};

}  // namespace smg::routing
