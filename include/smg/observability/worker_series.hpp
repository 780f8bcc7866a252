#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

namespace smg::observability {

/// States of a worker's circuit breaker; the numbers are the values of smg_worker_cb_state.
enum class CircuitState : std::uint8_t { Closed = 0, Open = 1, HalfOpen = 2 };

inline constexpr std::size_t kCircuitStateCount = 3;

/// The label of a state: `closed`, `open` or `half_open`.
[[nodiscard]] constexpr std::string_view name_of(CircuitState state) noexcept {
  constexpr std::string_view kNames[kCircuitStateCount] = {"closed", "open", "half_open"};
  return kNames[static_cast<std::size_t>(state)];
}

/// The HTTP versions spoken to workers; labels of smg_upstream_connections.
enum class UpstreamProtocol : std::uint8_t { Http1 = 0, Http2 = 1 };

inline constexpr std::size_t kUpstreamProtocolCount = 2;

/// Connections that are open to a worker.
struct ConnectionCounts {
  std::uint64_t idle = 0;
  std::uint64_t in_use = 0;
};

class WorkerFamilies;
struct WorkerSlot;
enum class WorkerGauge : std::uint8_t;

/// The series that carry one worker's URL. They are in the exposition, gauges from 0 on, for as
/// long as a handle of that URL lives, and leave with the last one (ruling 29), or before it: once
/// all are retired and no request is in service.
///
/// Handles of one URL may overlap, when a worker is registered again while its former self drains.
/// Counters and active requests then add up; the other gauges show what the newest handle says.
///
/// Thread-safe. What is counted locks and allocates only when a thread comes first, or a counter
/// has its first sample.
class WorkerSeries {
 public:
  /// For Metrics::open_worker_series.
  WorkerSeries(std::shared_ptr<WorkerFamilies> families, std::string_view url);
  WorkerSeries(const WorkerSeries&) = delete;
  WorkerSeries& operator=(const WorkerSeries&) = delete;
  ~WorkerSeries();

  /// The worker has left the fleet. What is still counted then may be seen by nobody.
  void retire();

  /// smg_worker_requests_active: a request was dispatched to the worker, or its response has ended.
  void request_began() noexcept;
  void request_ended() noexcept;

  void set_health(bool healthy) noexcept;  ///< smg_worker_health
  void set_http2(bool http2) noexcept;     ///< smg_worker_http2
  /// smg_upstream_connections, idle and in_use, and smg_upstream_connections_open, their sum.
  /// A protocol has series once it is the worker's own, or has had connections.
  void set_connections(UpstreamProtocol protocol, ConnectionCounts counts, bool is_own);
  void set_circuit_state(CircuitState state) noexcept;  ///< smg_worker_cb_state
  /// smg_worker_cb_consecutive_failures and smg_worker_cb_consecutive_successes
  void set_consecutive_failures(std::uint64_t failures) noexcept;
  void set_consecutive_successes(std::uint64_t successes) noexcept;
  /// smg_worker_cb_transitions_total
  void count_circuit_transition(CircuitState from, CircuitState to);
  /// smg_worker_cb_outcomes_total
  void count_circuit_outcome(bool success);

 private:
  [[nodiscard]] bool speaks_for_worker() const noexcept;
  void set(WorkerGauge gauge, std::uint64_t value) noexcept;

  std::shared_ptr<WorkerFamilies> families_;
  WorkerSlot* slot_;  ///< shared by the handles of one URL
  std::size_t row_;   ///< what this handle counts in
};

}  // namespace smg::observability
