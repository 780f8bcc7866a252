#pragma once

#include <smg/config/gateway_config.hpp>

namespace smg::gateway {

struct DaemonOptions {
  bool echo_backend = false;  ///< start two built-in echo workers and serve in front of them
};

/// Runs the gateway until it is told to stop. Returns the exit code of the process (ruling 31).
int run_daemon(const config::GatewayConfig& config, const DaemonOptions& options);

}  // namespace smg::gateway
