#include <smg/routing/circuit_breaker.hpp>

namespace smg::routing {

using observability::CircuitState;

CircuitBreaker::CircuitBreaker(const config::CircuitBreaker& settings,
                               observability::WorkerSeries& series)
    : settings_(settings), series_(series) {
  // The series may still show what a former worker of the same URL came to.
  series_.set_circuit_state(CircuitState::Closed);
  set_failures(0);
  set_successes(0);
}

std::optional<TimePoint> CircuitBreaker::reopens_at() const noexcept {
  if (state() != CircuitState::Open) return std::nullopt;
  return TimePoint(TimePoint::duration(opened_at_.load(std::memory_order_relaxed))) +
         settings_.timeout;
}

bool CircuitBreaker::available(TimePoint now) const noexcept {
  switch (state()) {
    case CircuitState::Closed: return true;
    case CircuitState::Open: return now >= reopens_at().value_or(now);
    case CircuitState::HalfOpen:
      return trials_.load(std::memory_order_relaxed) < settings_.success_threshold;
  }
  return true;
}

std::optional<CircuitBreaker::Permit> CircuitBreaker::admit(TimePoint now) {
  if (state() == CircuitState::Closed) return Permit{false};
  const std::lock_guard lock(mutex_);
  if (!available(now)) return std::nullopt;
  if (state() == CircuitState::Open) {
    set_successes(0);
    change_to(CircuitState::HalfOpen);
  }
  if (state() == CircuitState::Closed) return Permit{false};
  trials_.fetch_add(1, std::memory_order_relaxed);
  return Permit{true};
}

void CircuitBreaker::record(Permit permit, Outcome outcome, TimePoint now) {
  if (outcome != Outcome::None) series_.count_circuit_outcome(outcome == Outcome::Success);
  if (!permit.trial) {
    if (outcome == Outcome::None || state() != CircuitState::Closed) return;
    const bool keeps_closed =
        outcome == Outcome::Success && failures_.load(std::memory_order_relaxed) == 0;
    if (keeps_closed) return set_successes(successes_.load(std::memory_order_relaxed) + 1);
  }
  const std::lock_guard lock(mutex_);
  if (permit.trial && trials_.load(std::memory_order_relaxed) > 0) {
    trials_.fetch_sub(1, std::memory_order_relaxed);
  }
  // What began before it opened is old news: neither does it keep it open longer, nor does it
  // decide what the trials are for.
  if (!permit.trial && state() != CircuitState::Closed) return;
  if (outcome == Outcome::Failure) record_failure(now);
  if (outcome == Outcome::Success) record_success();
}

void CircuitBreaker::record_failure(TimePoint now) {
  if (state() == CircuitState::Open) return;  // by another trial
  const auto failures = failures_.load(std::memory_order_relaxed) + 1;
  set_failures(failures);
  set_successes(0);
  const bool opens = state() == CircuitState::HalfOpen || failures >= settings_.failure_threshold;
  if (!opens || settings_.disabled) return;
  opened_at_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
  change_to(CircuitState::Open);
}

void CircuitBreaker::record_success() {
  if (state() == CircuitState::Open) return;
  const auto successes = successes_.load(std::memory_order_relaxed) + 1;
  if (state() == CircuitState::Closed) {
    set_failures(0);
    set_successes(successes);
  } else if (successes < settings_.success_threshold) {
    set_successes(successes);
  } else {
    set_failures(0);
    set_successes(0);
    change_to(CircuitState::Closed);
  }
}

void CircuitBreaker::set_failures(std::uint32_t failures) {
  failures_.store(failures, std::memory_order_relaxed);
  series_.set_consecutive_failures(failures);
}

/// Concurrent successes of a closed breaker may be counted as one: the run only matters half-open.
void CircuitBreaker::set_successes(std::uint32_t successes) {
  successes_.store(successes, std::memory_order_relaxed);
  series_.set_consecutive_successes(successes);
}

void CircuitBreaker::change_to(CircuitState next) {
  series_.count_circuit_transition(state(), next);
  state_.store(next, std::memory_order_relaxed);
  series_.set_circuit_state(next);
}

}  // namespace smg::routing
