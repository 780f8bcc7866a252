#pragma once

#include <atomic>
#include <list>
#include <memory>

#include <smg/config/gateway_config.hpp>
#include <smg/http/client_exchange.hpp>

namespace smg::http {

class H1ServerConnection;
class ServerConnection;

/// The client connections of one IoThread, HTTP/1 and HTTP/2 as their first bytes say. All members
/// but `connections()` are used on that thread.
class ServerShard {
 public:
  ServerShard(net::IoThread& thread, const config::Listen& settings, RequestHandler& handler);
  ~ServerShard();
  ServerShard(const ServerShard&) = delete;
  ServerShard& operator=(const ServerShard&) = delete;

  /// Serves an accepted descriptor until either side ends it.
  void take(int descriptor);

  /// Closes idle connections, and every other one behind its running request.
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
  using Connections = std::list<std::unique_ptr<ServerConnection>>;

  [[nodiscard]] net::Task<> serve(Connections::iterator connection, H1ServerConnection& first);

  net::IoThread& thread_;
  const config::Listen& settings_;
  RequestHandler& handler_;
  Connections connections_;
  net::TaskGroup tasks_;
  std::atomic<std::size_t> count_{0};
  bool draining_ = false;
};

}  // namespace smg::http
