#pragma once

#include "control/protocol_probe.hpp"
#include "control/worker_metadata.hpp"
#include <smg/config/gateway_config.hpp>

namespace smg::control {

/// What a registration asks, and how patiently (ruling 21).
struct ProbeSettings {
  WorkerAddress address;
  HealthQuestion health;
  net::Duration startup_delay{};    ///< before the first question
  net::Duration longest_pause{};    ///< between two attempts; the first pause is a second
  net::Duration startup_timeout{};  ///< for the first healthy answer, from the beginning
  bool detect_runtime = true;
};

/// A worker that answered, and the pool of the version it is spoken to in.
struct ProbedWorker {
  DiscoveredWorker discovered;
  std::shared_ptr<upstream::HostPool> pool;
};

/// Waits until the worker's health endpoint answers 2xx in a version that it may speak, then asks
/// the worker about itself. What it does not answer stays unknown. Errors: the reason why it never
/// became healthy; Aborted when `scope` is cancelled.
[[nodiscard]] net::Task<Result<ProbedWorker>> probe_worker(CancelScope& scope,
                                                           const ProbeSettings& settings);

}  // namespace smg::control
