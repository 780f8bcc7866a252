#pragma once

#include <atomic>
#include <list>
#include <memory>

#include <smg/config/gateway_config.hpp>
#include <smg/http/client_exchange.hpp>
#include <smg/net/tls_server.hpp>

namespace smg::http {

class H1ServerConnection;
class ServerConnection;

/// The client connections of one IoThread, HTTP/1 and HTTP/2 as their first bytes say, whatever TLS
/// has negotiated. All members but `connections()` are used on that thread.
class ServerShard {
 public:
  /// `tls`: shakes hands with each client first; nullptr: they speak in the clear.
  ServerShard(net::IoThread& thread, const config::Listen& settings, RequestHandler& handler,
              net::TlsServer* tls = nullptr);
  ~ServerShard();
  ServerShard(const ServerShard&) = delete;
  ServerShard& operator=(const ServerShard&) = delete;

  /// Serves an accepted descriptor until either side ends it.
  void take(int descriptor);

  /// Closes idle connections and such that still shake hands, and every other one behind its
  /// running request.
  void drain();

  /// Cuts every connection off.
  void abort_all();

  /// Calls `ended` once no connection is left, nor any coroutine of one.
  void when_ended(std::function<void()> ended) { tasks_.when_idle(std::move(ended)); }

  /// Open connections, readable from any thread: where the next one is given to.
  [[nodiscard]] std::size_t connections() const noexcept {
    return count_.load(std::memory_order_relaxed);
  }

  /// Counted by whoever hands a descriptor over, before it arrives here.
  void expect_one() noexcept { count_.fetch_add(1, std::memory_order_relaxed); }

 private:
  class Departure;
  class Handshake;
  using Connections = std::list<std::unique_ptr<ServerConnection>>;

  void start(std::unique_ptr<net::ByteStream> stream);
  [[nodiscard]] net::Task<> shake_hands(std::unique_ptr<net::ByteStream> stream);
  void give_up_handshakes();
  [[nodiscard]] net::Task<> serve(Connections::iterator connection, H1ServerConnection& first);

  net::IoThread& thread_;
  const config::Listen& settings_;
  RequestHandler& handler_;
  net::TlsServer* const tls_;
  std::list<net::AbortSwitch> handshakes_;
  Connections connections_;
  net::TaskGroup tasks_;
  std::atomic<std::size_t> count_{0};
  bool draining_ = false;
};

}  // namespace smg::http
