#pragma once

#include <memory>
#include <vector>

#include <smg/config/gateway_config.hpp>
#include <smg/http/server_shard.hpp>
#include <smg/net/listener.hpp>

namespace smg::gateway {

/// A listening port whose connections are served by all io threads: each goes to the thread that
/// has the fewest, and stays there.
class ClientServer {
 public:
  /// Binds at once: throws std::runtime_error for an address that cannot be had, or for TLS files
  /// that cannot be used.
  ClientServer(net::IoThreads& threads, const config::Listen& settings,
               http::RequestHandler& handler);

  /// Accepts from now on. Before the threads run, or on thread 0.
  void start();

  [[nodiscard]] std::uint16_t port() const { return listener_.port(); }

  /// Reads the TLS files again; logs how that went. Without TLS nothing happens. Blocks.
  void reload_tls() noexcept;

  /// The steps of a shutdown; from any thread but the io threads. Each returns when it is done.
  void close_listener();
  void drain();
  /// Waits for the connections to end. False: some are left after `limit`.
  [[nodiscard]] bool wait_until_idle(std::chrono::milliseconds limit);
  /// Cuts off what is left, and waits until no coroutine of a connection remains.
  void abort_all();

 private:
  void hand_over(int descriptor);

  net::IoThreads& threads_;
  std::unique_ptr<net::TlsServer> tls_;  ///< null: clients speak in the clear
  std::vector<std::unique_ptr<http::ServerShard>> shards_;
  net::Listener listener_;
};

}  // namespace smg::gateway
