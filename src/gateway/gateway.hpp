#pragma once

#include <chrono>

#include "gateway/client_server.hpp"
#include "gateway/ops_server.hpp"
#include "gateway/request_lifecycle.hpp"
#include <smg/control/service_discovery.hpp>

namespace smg::gateway {

/// The composition root: owns every part of a running gateway, in the order in which they depend on
/// each other, and knows how to start and stop them.
class Gateway {
 public:
  /// Binds all ports: throws std::runtime_error for one that cannot be had.
  explicit Gateway(const config::GatewayConfig& config);
  ~Gateway();
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  void start();

  /// Reads the files again that may change under a running gateway: the TLS certificate. Blocks.
  void reload() noexcept { server_.reload_tls(); }

  /// Ends gracefully (spec, shell section 7): readiness turns, new requests are served for a while,
  /// then running ones may finish until the grace period is over. `hurry` is asked now and then
  /// whether to cut that short. Blocks; from the main thread.
  void shut_down(const std::function<bool()>& hurry);

 private:
  void settle(std::chrono::milliseconds length, const std::function<bool()>& hurry);
  void stop_workers();

  const config::GatewayConfig& config_;
  observability::Metrics metrics_;
  net::IoThreads threads_;
  upstream::PoolDirectory pools_;
  relay::FleetView fleet_;
  control::WorkerRegistry registry_;
  control::ServiceDiscovery discovery_;
  control::AdminEndpoints admin_;
  control::TokenAuthority tokens_;
  control::TraceExporter traces_;
  relay::InferenceRelay relay_;
  Admission admission_;
  InflightAges ages_;
  RequestLifecycle lifecycle_;
  ClientServer server_;
  OpsServer ops_;
};

}  // namespace smg::gateway
