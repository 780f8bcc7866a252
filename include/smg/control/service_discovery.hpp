#pragma once

#include <memory>

#include <smg/config/discovery.hpp>

namespace smg::observability {
class Metrics;
}

namespace smg::control {

class WorkerRegistry;

/// Keeps the fleet to the ready pods that --selector finds: lists them, watches what becomes of
/// them, and registers and removes workers accordingly. While the API server cannot be asked, the
/// fleet stays as it is. Works on a thread of its own, so that neither large lists nor the token's
/// file hold requests up. Without --service-discovery it does nothing.
class ServiceDiscovery {
 public:
  /// All arguments must outlive it. Throws std::runtime_error for a CA file that cannot be used.
  ServiceDiscovery(const config::Discovery& settings, observability::Metrics& metrics,
                   WorkerRegistry& registry);
  ~ServiceDiscovery();
  ServiceDiscovery(const ServiceDiscovery&) = delete;
  ServiceDiscovery& operator=(const ServiceDiscovery&) = delete;

  void start();

  /// Gives up all calls and waits for their end; the workers stay. Idempotent. Not from the own
  /// thread.
  void stop();

 private:
  class Session;

  std::unique_ptr<Session> session_;  ///< null: switched off
};

}  // namespace smg::control
