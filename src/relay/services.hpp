#pragma once

#include <smg/config/gateway_config.hpp>
#include <smg/observability/metrics.hpp>

namespace smg::relay {

/// What all relays work with.
struct Services {
  const config::GatewayConfig& config;
  observability::Metrics& metrics;
};

}  // namespace smg::relay
