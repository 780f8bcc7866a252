#pragma once

#include <functional>

#include "control/cancel_scope.hpp"
#include "control/engine_load.hpp"

namespace smg::control {

/// What the load polls of one engine need to know.
struct LoadSubject {
  routing::WorkerPtr worker;  ///< any of the engine's
  /// Called after every poll; with its report, if there is one that has rows.
  std::function<void(std::optional<EngineLoad>)> polled;
};

/// Asks an engine for its load at once and then at its interval, until `scope`
/// is cancelled (policies_and_workers 2.4): GET /loads, then /v1/loads, then
/// its /metrics. What the engine does not have is not asked for again until it
/// could not be reached, which may mean a new engine.
[[nodiscard]] net::Task<> watch_load(std::shared_ptr<CancelScope> scope, LoadSubject subject);

}  // namespace smg::control
