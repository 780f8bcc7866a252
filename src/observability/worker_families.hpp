#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>

#include "observability/family_registry.hpp"
#include <smg/observability/worker_series.hpp>

namespace smg::observability {

/// The series of one worker URL, shared by its handles.
struct WorkerSlot {
  std::string url;
  std::uint32_t handles = 0;  ///< guarded by WorkerFamilies::mutex_
  /// The handle whose word counts for the gauges; null once it has gone before an older one.
  std::atomic<const WorkerSeries*> newest{nullptr};

  prometheus::Gauge* requests_active = nullptr;
  prometheus::Gauge* health = nullptr;
  prometheus::Gauge* http2 = nullptr;
  prometheus::Gauge* circuit_state = nullptr;
  prometheus::Gauge* consecutive_failures = nullptr;
  prometheus::Gauge* consecutive_successes = nullptr;

  /// By protocol: idle, in use, and open.
  using ConnectionGauges = std::array<prometheus::Gauge*, 3>;
  std::array<ConnectionGauges, kUpstreamProtocolCount> connections{};  ///< guarded like `handles`

  // Counters are made at their first sample.
  using LazyCounter = std::atomic<prometheus::Counter*>;
  std::array<std::array<LazyCounter, kCircuitStateCount>, kCircuitStateCount> transitions{};
  std::array<LazyCounter, 2> outcomes{};  ///< failure, success
};

/// The families whose series come and go with workers.
class WorkerFamilies {
 public:
  explicit WorkerFamilies(std::shared_ptr<FamilyRegistry> registry);

  /// The slot of `url`, for the lifetime of a handle: made by its first handle, ended by its last.
  [[nodiscard]] WorkerSlot& open(std::string_view url);
  void close(WorkerSlot& slot);

  [[nodiscard]] prometheus::Counter& transition(WorkerSlot& slot, CircuitState from,
                                                CircuitState to);
  [[nodiscard]] prometheus::Counter& outcome(WorkerSlot& slot, bool success);

  void set_connections(WorkerSlot& slot, UpstreamProtocol protocol, ConnectionCounts counts,
                       bool is_own);

 private:
  void add_gauges(WorkerSlot& slot);
  void remove_series(const WorkerSlot& slot);

  std::shared_ptr<FamilyRegistry> registry_;  // keeps the families below alive
  prometheus::Family<prometheus::Gauge>& requests_active_;
  prometheus::Family<prometheus::Gauge>& health_;
  prometheus::Family<prometheus::Gauge>& http2_;
  prometheus::Family<prometheus::Gauge>& circuit_state_;
  prometheus::Family<prometheus::Gauge>& consecutive_failures_;
  prometheus::Family<prometheus::Gauge>& consecutive_successes_;
  prometheus::Family<prometheus::Gauge>& connections_;
  prometheus::Family<prometheus::Gauge>& connections_open_;
  prometheus::Family<prometheus::Counter>& transitions_;
  prometheus::Family<prometheus::Counter>& outcomes_;
  std::mutex
      mutex_;  // of slots_; also makes the end of a URL's series and their new start exclusive
  std::map<std::string, std::unique_ptr<WorkerSlot>, std::less<>> slots_;
};

}  // namespace smg::observability
