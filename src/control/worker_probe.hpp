#pragma once

#include "control/cancel_scope.hpp"
#include "control/worker_metadata.hpp"
#include <smg/config/gateway_config.hpp>

namespace smg::control {

/// What a registration asks, and how patiently (ruling 21).
struct ProbeSettings {
  std::shared_ptr<upstream::HostPool> pool;
  std::string api_key;
  std::string health_endpoint;
  net::Duration health_timeout{};
  net::Duration startup_delay{};    ///< before the first question
  net::Duration longest_pause{};    ///< between two attempts; the first pause is a second
  net::Duration startup_timeout{};  ///< for the first healthy answer, from the beginning
  bool detect_runtime = true;
};

/// Waits until the worker's health endpoint answers 2xx, then asks the worker about itself. What it
/// does not answer stays unknown. Errors: the reason why it never became healthy; Aborted when
/// `scope` is cancelled.
[[nodiscard]] net::Task<Result<DiscoveredWorker>> probe_worker(CancelScope& scope,
                                                               const ProbeSettings& settings);

/// One health check: nothing if the endpoint answered 2xx, else what happened instead.
[[nodiscard]] net::Task<Result<>> check_health(CancelScope& scope,
                                               std::shared_ptr<upstream::HostPool> pool,
                                               std::string endpoint, std::string api_key,
                                               net::Duration timeout);

}  // namespace smg::control
