#pragma once

#include <chrono>
#include <cstdint>
#include <random>

#include <smg/base/error.hpp>
#include <smg/config/gateway_config.hpp>
#include <smg/routing/breaker_statuses.hpp>
#include <smg/routing/circuit_breaker.hpp>

namespace smg::relay {

/// Whether a worker's answer of this status may be asked for again: 408, 429, 500, 502, 503, 504.
[[nodiscard]] bool is_retryable(int status) noexcept;

/// Whether an attempt that ended in this error may be made again: what is the worker's fault, with
/// a status of those above.
[[nodiscard]] bool is_retryable(const GatewayError& error) noexcept;

/// What a status tells a circuit breaker (ruling 19): those that speak of overload (429, 529) tell
/// nothing, 408 and other 5xx are failures, everything else is a success. Either set may be
/// replaced by one of the worker's own; a status in both tells nothing.
[[nodiscard]] routing::Outcome outcome_of(int status, const routing::BreakerStatuses& own) noexcept;

/// What an error tells a circuit breaker: only a worker's fault is held against the worker.
[[nodiscard]] routing::Outcome outcome_of(const GatewayError& error) noexcept;

/// The delay before repetition `repetition` (from 1): initial * multiplier^(n-1), at most the
/// maximum, times 1 ± jitter. `draw` is uniform in [0, 1).
[[nodiscard]] config::Milliseconds backoff(const config::Retry& settings, std::uint32_t repetition,
                                           double draw) noexcept;

/// A uniform number in [0, 1) from a generator of the calling thread.
[[nodiscard]] double random_draw() noexcept;

}  // namespace smg::relay
