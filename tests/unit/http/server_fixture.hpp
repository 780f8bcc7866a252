#pragma once

#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>

#include <gtest/gtest.h>

#include "support/http_text.hpp"
#include "support/raw_socket.hpp"
#include "support/run_on.hpp"
#include <smg/http/server_shard.hpp>

namespace smg::http {

/// Handles each request by the script of the test.
class ScriptedHandler final : public RequestHandler {
 public:
  using Script = std::function<net::Task<>(ClientExchange&)>;

  net::Task<> handle(ClientExchange& client) override { return script(client); }

  Script script;
};

/// Reads a request body to its end, `room` bytes at a time.
[[nodiscard]] inline net::Task<Result<std::string>> read_all(ClientExchange& client,
                                                             std::size_t room = 64 * 1024) {
  std::string body;
  std::string piece(room, '\0');
  while (!client.body_ended()) {
    auto got = co_await client.read_body(piece);
    if (!got) co_return got.error();
    body.append(piece, 0, *got);
  }
  co_return body;
}

inline void answer(ClientExchange& client, int status, std::string_view body) {
  client.write_head({status, {}}, BodyLength::known(body.size()));
  client.write_body(body, true);
}

/// A ServerShard on a thread of its own, and raw clients of it. The default script answers each
/// request with its path and body.
class ServerFixture : public testing::Test {
 protected:
  ServerFixture() { handler.script = echo; }

  ~ServerFixture() override {
    test::call_on(loop(), [this] { shard.abort_all(); });
    wait_for_the_end();
  }

  /// Waits until no connection is left.
  void wait_for_the_end() {
    std::promise<void> ended;
    test::call_on(loop(), [&] { shard.when_ended([&ended] { ended.set_value(); }); });
    ended.get_future().get();
  }

  static net::Task<> echo(ClientExchange& client) {
    const auto body = co_await read_all(client);
    if (!body) co_return;
    answer(client, 200, std::string(client.head().path) + "|" + *body);
  }

  [[nodiscard]] net::IoThread& loop() { return loops[0]; }

  /// `send_buffer`: of the gateway's end, `receive_buffer`: of the client's, 0: the kernel's
  /// choice.
  [[nodiscard]] test::RawSocket connect(int send_buffer = 0, int receive_buffer = 0) {
    auto client = test::RawSocket::connect_to(listener.port(), receive_buffer);
    const int descriptor = listener.accept().release();
    if (send_buffer > 0) {
      ::setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
    }
    shard.expect_one();
    test::call_on(loop(), [this, descriptor] { shard.take(descriptor); });
    return client;
  }

  /// Sends `bytes` on a new connection and returns the answer and what the connection comes to.
  struct Talk {
    test::TextResponse response;
    std::string rest;
    bool reset = false;
  };
  [[nodiscard]] Talk talk(std::string_view bytes) {
    auto client = connect();
    client.send(bytes);
    Talk talk{test::read_response(client), {}, false};
    talk.rest = client.receive_rest();
    talk.reset = client.was_reset();
    return talk;
  }

  test::Loops loops;
  test::RawListener listener;
  config::Listen settings;
  ScriptedHandler handler;
  ServerShard shard{loops[0], settings, handler};
};

[[nodiscard]] inline std::string get(std::string_view path, std::string_view lines = {}) {
  return "GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\n" + std::string(lines) + "\r\n";
}

[[nodiscard]] inline std::string post(std::string_view lines, std::string_view body) {
  return "POST /p HTTP/1.1\r\nHost: x\r\n" + std::string(lines) + "\r\n" + std::string(body);
}

}  // namespace smg::http
