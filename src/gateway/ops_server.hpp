#pragma once

#include <functional>
#include <memory>
#include <thread>

#include "gateway/loop_probe.hpp"
#include <smg/control/admin_endpoints.hpp>
#include <smg/http/server_shard.hpp>
#include <smg/net/listener.hpp>

namespace smg::gateway {

/// The metrics port and the probe port, on a thread of their own: a scrape or a probe never waits
/// for traffic, nor traffic for them. Both answer until the process ends.
class OpsServer {
 public:
  /// Binds at once: throws std::runtime_error for an address that cannot be had. `before_scrape`
  /// brings up to date what is only read off at a scrape; it runs on the server's thread.
  OpsServer(const config::GatewayConfig& config, observability::Metrics& metrics,
            net::IoThreads& threads, control::AdminEndpoints& admin,
            std::function<void()> before_scrape);
  ~OpsServer();
  OpsServer(const OpsServer&) = delete;
  OpsServer& operator=(const OpsServer&) = delete;

  void start();
  void stop();

 private:
  /// One of the two ports.
  struct Port {
    Port(net::IoThread& thread, const config::Listen& settings, const std::string& host,
         std::uint16_t number, std::unique_ptr<http::RequestHandler> answers);
    std::unique_ptr<http::RequestHandler> handler;
    http::ServerShard shard;
    net::Listener listener;
  };

  net::IoThread thread_;
  LoopProbe probe_;
  std::unique_ptr<Port> metrics_port_;
  std::unique_ptr<Port> probe_port_;
  std::thread runner_;
};

}  // namespace smg::gateway
