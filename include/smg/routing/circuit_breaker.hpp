#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>

#include <smg/config/gateway_config.hpp>
#include <smg/observability/worker_series.hpp>

namespace smg::routing {

using TimePoint = std::chrono::steady_clock::time_point;

/// What an exchange tells about its worker, once it is over.
enum class Outcome : std::uint8_t {
  Success,
  Failure,
  None,  ///< nothing: the client left or was at fault, or the answer was 429
};

/// Leaves a failing worker alone for a while (spec "Circuit breaker", ruling 19). Thread-safe; a
/// closed breaker costs one atomic load to ask and, on success, one to record.
///
/// Closed opens after `failure_threshold` failures in a row. Open turns half-open when `timeout`
/// has passed and somebody asks. Half-open lets at most `success_threshold` requests through at a
/// time: as many successes in a row close it, one failure opens it again. These trials alone move
/// it then; of requests from before it opened, only the metrics hear.
class CircuitBreaker {
 public:
  /// The right to send one request, to be given back with its outcome.
  struct Permit {
    bool trial = false;
  };

  /// `series` shows the state and must outlive the breaker.
  CircuitBreaker(const config::CircuitBreaker& settings, observability::WorkerSeries& series);

  /// Whether `admit` would say yes.
  [[nodiscard]] bool available(TimePoint now) const noexcept;

  /// A permit for one request, or nothing.
  [[nodiscard]] std::optional<Permit> admit(TimePoint now);

  void record(Permit permit, Outcome outcome, TimePoint now);

  [[nodiscard]] observability::CircuitState state() const noexcept {
    return state_.load(std::memory_order_relaxed);
  }

  /// When an open breaker lets the next trial through; nothing while it is not open.
  [[nodiscard]] std::optional<TimePoint> reopens_at() const noexcept;

 private:
  void change_to(observability::CircuitState next);
  void record_failure(TimePoint now);
  void record_success();
  void set_failures(std::uint32_t failures);
  void set_successes(std::uint32_t successes);

  const config::CircuitBreaker settings_;
  observability::WorkerSeries& series_;
  std::atomic<observability::CircuitState> state_{observability::CircuitState::Closed};
  std::atomic<std::uint32_t> failures_{0};   ///< in a row
  std::atomic<std::uint32_t> successes_{0};  ///< in a row
  std::atomic<std::uint32_t> trials_{0};
  std::atomic<TimePoint::duration::rep> opened_at_{0};
  mutable std::mutex mutex_;
};

}  // namespace smg::routing
