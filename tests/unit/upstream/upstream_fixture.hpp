#pragma once

#include <future>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "support/raw_socket.hpp"
#include "support/run_on.hpp"
#include <smg/upstream/host_pool.hpp>

namespace smg::upstream {

/// What one exchange came to, as a test compares it.
struct Exchanged {
  int status = 0;  ///< 0: it failed with `error`
  std::string body;
  GatewayError error;
  bool response_begun = false;
};

/// Writes a GET and reads the whole response, `room` bytes at a time.
[[nodiscard]] inline net::Task<Exchanged> exchange_on(UpstreamExchange& exchange,
                                                      std::size_t room = 4096,
                                                      std::string_view method = "GET") {
  Exchanged result;
  exchange.write_head({method, "/t", {}, http::BodyLength::none()});
  exchange.flush();
  auto head = co_await exchange.read_head();
  if (!head) {
    result.error = head.error();
  } else {
    std::string piece(room, '\0');
    while (!exchange.body_ended()) {
      auto got = co_await exchange.read_body(piece);
      if (!got) {
        result.error = got.error();
        break;
      }
      result.body.append(piece, 0, *got);
    }
    if (exchange.body_ended()) result.status = (*head)->status;
  }
  result.response_begun = exchange.response_begun();
  co_return result;
}

/// A pool of a worker that the test plays with raw sockets: it accepts and answers on its own
/// thread.
class UpstreamFixture : public testing::Test {
 protected:
  explicit UpstreamFixture(PoolSettings settings = {config::Seconds{0}, 500, config::Seconds{0}}) {
    use(settings);
  }
  ~UpstreamFixture() override { retire(); }

  /// A pool of other settings takes the place of the fixture's.
  void use(PoolSettings settings) {
    if (pool) retire();
    pool = std::make_shared<HostPool>(
        loops.threads, tls,
        Origin{"127.0.0.1", worker.port(), "w:" + std::to_string(worker.port())}, settings);
  }

  /// Ends the idle connections; returns when all loops have.
  void retire() {
    pool->retire();
    for (std::size_t i = 0; i < loops.threads.size(); ++i) test::call_on(loops[i], [] {});
    for (std::size_t i = 0; i < loops.threads.size(); ++i) test::call_on(loops[i], [] {});
  }

  /// Starts one exchange over the pool on thread `index`.
  [[nodiscard]] std::future<Exchanged> start(std::size_t index = 0, std::size_t room = 4096,
                                             std::string_view method = "GET") {
    return test::start_on(loops[index],
                          [this, room, method](net::IoThread& thread) -> net::Task<Exchanged> {
                            auto opened = co_await pool->open(thread, abort);
                            if (!opened) co_return Exchanged{0, {}, opened.error(), false};
                            auto result = co_await exchange_on(**opened, room, method);
                            co_return result;
                          });
  }

  /// One whole exchange on a connection that the worker has: it reads the request and answers
  /// `response`.
  [[nodiscard]] Exchanged exchange(test::RawSocket& socket, std::string_view response,
                                   std::size_t index = 0) {
    auto running = start(index);
    request_ = socket.receive_until("\r\n\r\n");
    socket.send(response);
    return running.get();
  }

  /// The same on a new connection, which the worker keeps.
  [[nodiscard]] Exchanged exchange_anew(std::string_view response, std::size_t index = 0) {
    auto running = start(index);
    connection = std::make_unique<test::RawSocket>(worker.accept());
    request_ = connection->receive_until("\r\n\r\n");
    connection->send(response);
    return running.get();
  }

  test::Loops loops{2};
  test::RawListener worker;
  std::unique_ptr<test::RawSocket> connection;
  net::TlsClient tls{{}};
  std::shared_ptr<HostPool> pool;
  net::AbortSwitch abort;
  std::string request_;
};

inline constexpr std::string_view kOk = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

}  // namespace smg::upstream
