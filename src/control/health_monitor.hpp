#pragma once

#include <functional>

#include "control/cancel_scope.hpp"
#include "control/health_state.hpp"
#include <smg/observability/metrics.hpp>

namespace smg::control {

/// What the health checks of one worker need to know.
struct HealthSubject {
  routing::WorkerPtr worker;
  std::function<void(routing::WorkerStatus)> changed;  ///< called with every new status
};

/// Checks a worker's health at once and then at its interval, until `scope` is cancelled. The check
/// carries the worker's key; 2xx is good (spec "Health", ruling 9).
[[nodiscard]] net::Task<> watch_health(std::shared_ptr<CancelScope> scope, HealthSubject subject,
                                       observability::Metrics& metrics);

}  // namespace smg::control
