#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>

#include "observability/family_registry.hpp"
#include "observability/row_tally.hpp"
#include <smg/observability/worker_series.hpp>

namespace smg::observability {

/// The gauges that a worker has from the start.
enum class WorkerGauge : std::uint8_t {
  RequestsActive,
  Health,
  Http2,
  CircuitState,
  ConsecutiveFailures,
  ConsecutiveSuccesses,
};

inline constexpr std::size_t kWorkerGaugeCount = 6;

/// What threads count of a worker's requests.
enum class WorkerEvent : std::uint8_t {
  Failure,  ///< an outcome, as is Success
  Success,
  Active,  ///< up and down
};

inline constexpr std::size_t kWorkerEventCount = 3;

/// The series of one worker URL, shared by its handles.
struct WorkerSlot {
  std::string url;  ///< constant
  /// The handle whose word counts for the gauges; null once it has gone before an older one.
  std::atomic<const WorkerSeries*> newest{nullptr};

  /// Of failures and successes; made at their first sample.
  std::array<std::atomic<prometheus::Counter*>, 2> outcomes{};

  /// What the gauges are to show, but for RequestsActive, which is counted. Apart from what is read
  /// for every request.
  alignas(64) std::array<std::atomic<std::uint64_t>, kWorkerGaugeCount> values{};

  // The rest is guarded by WorkerFamilies::mutex_.

  std::array<prometheus::Gauge*, kWorkerGaugeCount> gauges{};
  /// Counters, made at their first sample.
  std::array<std::array<prometheus::Counter*, kCircuitStateCount>, kCircuitStateCount>
      transitions{};
  /// By protocol: idle, in use, and open.
  using ConnectionGauges = std::array<prometheus::Gauge*, 3>;
  std::array<ConnectionGauges, kUpstreamProtocolCount> connections{};

  /// What a handle counts in.
  struct Row {
    std::size_t number;  ///< in the tally
    bool retired = false;
  };
  std::vector<Row> rows;               ///< one for each handle
  std::array<std::int64_t, 2> gone{};  ///< outcomes that former handles counted
  bool hidden = false;                 ///< its series have left before its handles
};

/// The families whose series come and go with workers.
class WorkerFamilies {
 public:
  explicit WorkerFamilies(std::shared_ptr<FamilyRegistry> registry);

  /// The slot of `url` for the lifetime of a handle, made by its first handle, ended by its last;
  /// and the row that the handle counts in.
  [[nodiscard]] std::pair<WorkerSlot*, std::size_t> open(std::string_view url);
  void close(WorkerSlot& slot, std::size_t row);
  /// The slot's series leave at an exposition that finds all of its handles retired and no request
  /// in service.
  void retire(WorkerSlot& slot, std::size_t row);

  /// Requests that began, or ended if negative. A thread's first count takes memory: where there is
  /// none, the gauge may be off rather than the process gone.
  void count_active(std::size_t row, std::int64_t requests) noexcept try {
    tally_.count(row, static_cast<std::size_t>(WorkerEvent::Active), requests);
  } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): see above
  }
  void count_outcome(WorkerSlot& slot, std::size_t row, bool success);
  void count_transition(WorkerSlot& slot, CircuitState from, CircuitState to);

  void set_connections(WorkerSlot& slot, UpstreamProtocol protocol, ConnectionCounts counts,
                       bool is_own);

 private:
  void make_outcome(WorkerSlot& slot, bool success);
  void remove_series(const WorkerSlot& slot);
  [[nodiscard]] bool is_over(const WorkerSlot& slot) const;
  [[nodiscard]] std::int64_t count_in_service(const WorkerSlot& slot) const;
  void show();
  void show(const WorkerSlot& slot) const;

  std::shared_ptr<FamilyRegistry> registry_;  // keeps the families below alive
  std::array<prometheus::Family<prometheus::Gauge>*, kWorkerGaugeCount> gauges_;
  prometheus::Family<prometheus::Gauge>& connections_;
  prometheus::Family<prometheus::Gauge>& connections_open_;
  prometheus::Family<prometheus::Counter>& transitions_;
  prometheus::Family<prometheus::Counter>& outcomes_;
  RowTally<kWorkerEventCount> tally_;
  std::mutex
      mutex_;  // of the slots; also makes the end of a URL's series and their new start exclusive
  std::map<std::string, std::unique_ptr<WorkerSlot>, std::less<>> slots_;
  std::vector<std::unique_ptr<WorkerSlot>> hidden_;
};

}  // namespace smg::observability
