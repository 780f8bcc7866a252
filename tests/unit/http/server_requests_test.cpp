#include <algorithm>
#include <future>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "unit/http/server_fixture.hpp"

namespace smg::http {
namespace {

using test::read_response;

class ServerRequestTest : public ServerFixture {};

// ---- connections --------------------------------------------------------------------------------

TEST_F(ServerRequestTest, AConnectionIsKeptForManyRequests) {
  auto client = connect();
  for (int i = 0; i < 50; ++i) {
    client.send(get("/" + std::to_string(i)));
    const auto response = read_response(client);
    EXPECT_EQ(response.status, 200);
    EXPECT_EQ(response.body, "/" + std::to_string(i) + "|");
    EXPECT_FALSE(response.has("connection"));
  }
  EXPECT_EQ(shard.connections(), 1U);
}

TEST_F(ServerRequestTest, PipelinedRequestsAreAnsweredInOrder) {
  auto client = connect();
  std::string all;
  for (int i = 0; i < 20; ++i) {
    all += get("/g" + std::to_string(i));
    all += post("Content-Length: 3\r\n", "a" + std::to_string(10 + i));
    all += post("Transfer-Encoding: chunked\r\n", "2\r\nhi\r\n0\r\n\r\n");
  }
  client.send(all);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(read_response(client).body, "/g" + std::to_string(i) + "|");
    EXPECT_EQ(read_response(client).body, "/p|a" + std::to_string(10 + i));
    EXPECT_EQ(read_response(client).body, "/p|hi");
  }
}

TEST_F(ServerRequestTest, APipeliningClientLeavesOthersTheirTurn) {
  std::vector<std::string> order;
  handler.script = [&order](ClientExchange& client) -> net::Task<> {
    order.emplace_back(client.head().path);
    answer(client, 200, "");
    co_return;
  };
  auto many = connect();
  auto one = connect();
  one.send(get("/accepted"));
  EXPECT_EQ(read_response(one).status, 200);
  std::string all;
  for (int i = 0; i < 60; ++i) all += get("/many", "X: " + std::string(960, 'x') + "\r\n");
  // Both are there when the loop looks.
  test::HeldLoop held(loop());
  many.send(all);
  one.send(get("/one"));
  many.until_arrived();
  one.until_arrived();
  held.release();
  EXPECT_EQ(read_response(one).status, 200);
  for (int i = 0; i < 60; ++i) EXPECT_EQ(read_response(many).status, 200);
  ASSERT_EQ(order.size(), 62U);
  EXPECT_LT(std::find(order.begin(), order.end(), "/one") - order.begin(), 61);
}

TEST_F(ServerRequestTest, AnUploadingClientLeavesOthersTheirTurn) {
  std::size_t read_before = 0;
  std::size_t read_in_all = 0;
  handler.script = [&](ClientExchange& client) -> net::Task<> {
    if (client.head().path == "/one") read_before = read_in_all;
    char room[1024];
    while (!client.body_ended()) {
      const auto got = co_await client.read_body(room);
      if (!got) co_return;
      read_in_all += *got;
    }
    answer(client, 200, "");
  };
  auto many = connect();
  auto one = connect();
  one.send(get("/accepted"));
  EXPECT_EQ(read_response(one).status, 200);
  constexpr std::size_t kBytes = 60 * 1024;
  many.send("POST /many HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(kBytes) +
            "\r\n\r\n");
  // Both are there when the loop looks.
  test::HeldLoop held(loop());
  many.send(std::string(kBytes, 'x'));
  one.send(get("/one"));
  many.until_arrived();
  one.until_arrived();
  held.release();
  EXPECT_EQ(read_response(one).status, 200);
  EXPECT_EQ(read_response(many).status, 200);
  EXPECT_EQ(read_in_all, kBytes);
  EXPECT_LT(read_before, kBytes);
}

TEST_F(ServerRequestTest, ConnectionCloseIsHonouredAndAnnounced) {
  for (const std::string_view value : {"close", "foo, Close", "CLOSE"}) {
    const auto result = talk(get("/a", "Connection: " + std::string(value) + "\r\n"));
    EXPECT_EQ(result.response.status, 200) << value;
    EXPECT_TRUE(result.response.closes()) << value;
    EXPECT_EQ(result.rest, "");
    EXPECT_FALSE(result.reset);
  }
}

TEST_F(ServerRequestTest, Http10ClosesUnlessAskedNotTo) {
  const auto closing = talk("GET /a HTTP/1.0\r\n\r\n");
  EXPECT_EQ(closing.response.status, 200);
  EXPECT_TRUE(closing.response.head.starts_with("HTTP/1.0 200 OK\r\n")) << closing.response.head;
  EXPECT_TRUE(closing.response.closes());
  auto client = connect();
  for (int i = 0; i < 3; ++i) {
    client.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    const auto response = read_response(client);
    EXPECT_EQ(response.body, "/a|");
    EXPECT_EQ(response.field("connection"), "keep-alive");
  }
}

TEST_F(ServerRequestTest, EmptyLinesBeforeARequestAreSkipped) {
  auto client = connect();
  client.send("\r\n\n\r\n" + get("/a") + "\r\n");
  EXPECT_EQ(read_response(client).body, "/a|");
  client.send("\r\n");
  client.send(get("/b"));
  EXPECT_EQ(read_response(client).body, "/b|");
}

TEST_F(ServerRequestTest, HowBytesAreCutDoesNotMatter) {
  const std::string message =
      get("/a") +
      post("Transfer-Encoding: chunked\r\n", "5;x=y\r\nhello\r\n6\r\n world\r\n0\r\nT: v\r\n\r\n") +
      post("Content-Length: 4\r\n", "1234");
  for (const std::size_t size : {1U, 2U, 7U, 30U}) {
    auto client = connect();
    for (std::size_t at = 0; at < message.size(); at += size) {
      client.send(std::string_view(message).substr(at, size));
      test::settle(loop());  // so that the pieces arrive as pieces
    }
    EXPECT_EQ(read_response(client).body, "/a|") << size;
    EXPECT_EQ(read_response(client).body, "/p|hello world") << size;
    EXPECT_EQ(read_response(client).body, "/p|1234") << size;
  }
}

TEST_F(ServerRequestTest, LengthBesideChunkedObeysTheChunksAndCloses) {
  for (const std::string_view lines : {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                                       "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"}) {
    const auto result = talk(post(lines, "2\r\nhi\r\n0\r\n\r\n") + get("/second"));
    EXPECT_EQ(result.response.body, "/p|hi");
    EXPECT_TRUE(result.response.closes());
    EXPECT_EQ(result.rest, "") << "the second request is not answered";
  }
}

// ---- bodies -------------------------------------------------------------------------------------

TEST_F(ServerRequestTest, BodiesArriveWholeWhateverTheFramingAndTheRoom) {
  std::minstd_rand random(3);
  for (const std::size_t room : {1UL, 3UL, 1000UL, 100000UL}) {
    handler.script = [room](ClientExchange& client) -> net::Task<> {
      const auto body = co_await read_all(client, room);
      if (body) answer(client, 200, *body);
    };
    std::string body;
    std::string chunks;
    while (body.size() < (room == 1 ? 3000U : 200000U)) {
      const std::string data(random() % 40 + 1, static_cast<char>('a' + random() % 26));
      char size[16];
      std::snprintf(size, sizeof size, "%zx\r\n", data.size());
      body += data;
      chunks += size + data + "\r\n";
    }
    chunks += "0\r\n\r\n";
    auto client = connect();
    client.send(post("Transfer-Encoding: chunked\r\n", chunks) +
                post("Content-Length: " + std::to_string(body.size()) + "\r\n", body));
    EXPECT_EQ(read_response(client).body, body) << "chunked, room " << room;
    EXPECT_EQ(read_response(client).body, body) << "by length, room " << room;
  }
}

TEST_F(ServerRequestTest, TellsHowMuchOfABodyIsAnnounced) {
  handler.script = [](ClientExchange& client) -> net::Task<> {
    std::string room(1, '\0');
    const auto got = co_await client.read_body(room);
    answer(client, got ? 200 : 400, std::to_string(client.announced_bytes()));
  };
  const struct {
    std::string request;
    std::string_view announced;
  } cases[] = {
      {post("Content-Length: 5\r\n", "h"), "4"},
      {post("Transfer-Encoding: chunked\r\n", "10000\r\nh"), "65535"},
      {post("Transfer-Encoding: chunked\r\n", "ffffffffffffffff\r\nh"), "18446744073709551614"},
      {post("Transfer-Encoding: chunked\r\n", "1\r\nh\r\n"), "0"},
      {get("/"), "0"}};
  for (const auto& c : cases) {
    auto client = connect();
    client.send(c.request);
    EXPECT_EQ(read_response(client).body, c.announced) << c.request;
  }
}

TEST_F(ServerRequestTest, BrokenChunksAreUnreadableAndClose) {
  handler.script = [](ClientExchange& client) -> net::Task<> {
    const auto body = co_await read_all(client);
    answer(client, !body && body.error().code == ErrorCode::BodyUnreadable ? 400 : 500, "");
  };
  for (const std::string_view body :
       {"zz\r\nhello\r\n0\r\n\r\n", "-1\r\nhello\r\n0\r\n\r\n", "3\r\nhello\r\n0\r\n\r\n",
        "5\nhello\n0\n\n", "\r\nhello\r\n0\r\n\r\n", "5\r\nhello0\r\n\r\n"}) {
    const auto result = talk(post("Transfer-Encoding: chunked\r\n", body) + get("/second"));
    EXPECT_EQ(result.response.status, 400) << body;
    EXPECT_TRUE(result.response.closes()) << body;
    EXPECT_EQ(result.rest, "") << body;
  }
}

TEST_F(ServerRequestTest, ContinueIsSentWhenTheBodyIsFirstReadAndOnlyThen) {
  auto client = connect();
  client.send(post("Expect: 100-continue\r\nContent-Length: 5\r\n", ""));
  EXPECT_EQ(client.receive_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("hello");
  EXPECT_EQ(read_response(client).body, "/p|hello");
  client.send(post("Expect: 100-continue\r\nContent-Length: 2\r\n", "hi"));
  EXPECT_EQ(read_response(client).status, 200) << "the body is there already";
  client.send(post("Expect: 100-continue\r\nContent-Length: 0\r\n", ""));
  EXPECT_EQ(read_response(client).status, 200) << "there is no body to wait for";
  handler.script = [](ClientExchange& exchange) -> net::Task<> {
    answer(exchange, 413, "no");
    co_return;
  };
  const auto refused = talk(post("Expect: 100-continue\r\nContent-Length: 5\r\n", ""));
  EXPECT_EQ(refused.response.status, 413) << "the final status comes in its place";
  EXPECT_TRUE(refused.response.closes());
}

TEST_F(ServerRequestTest, AClientThatLeavesWithinItsBodyIsSeenByTheReader) {
  for (const bool by_reset : {false, true}) {
    std::promise<ErrorCode> seen;
    handler.script = [&seen](ClientExchange& client) -> net::Task<> {
      const auto body = co_await read_all(client);
      seen.set_value(body ? ErrorCode::Internal : body.error().code);
    };
    auto client = connect();
    client.send(post("Content-Length: 10\r\n", "hello"));
    if (by_reset) {
      client.reset();
    } else {
      client.finish_sending();
    }
    EXPECT_EQ(seen.get_future().get(), ErrorCode::BodyAborted);
  }
}

TEST_F(ServerRequestTest, CancelledReadEndsWithAborted) {
  std::promise<ErrorCode> seen;
  std::promise<ClientExchange*> started;
  handler.script = [&](ClientExchange& client) -> net::Task<> {
    started.set_value(&client);
    char room[10];
    const auto got = co_await client.read_body(room);
    const auto again = co_await client.read_body(room);
    EXPECT_FALSE(again);
    answer(client, 408, "");
    seen.set_value(got ? ErrorCode::Internal : got.error().code);
  };
  auto client = connect();
  client.send(post("Content-Length: 10\r\n", ""));
  ClientExchange* exchange = started.get_future().get();
  test::call_on(loop(), [exchange] { exchange->cancel_read(); });
  EXPECT_EQ(seen.get_future().get(), ErrorCode::Aborted);
  const auto response = read_response(client);
  EXPECT_EQ(response.status, 408);
  EXPECT_TRUE(response.closes());
}

TEST_F(ServerRequestTest, CancelledReadsFailThoughBytesAreAtHand) {
  handler.script = [](ClientExchange& client) -> net::Task<> {
    EXPECT_TRUE(client.body_ready());
    client.cancel_read();
    char room[10];
    const auto got = co_await client.read_body(room);
    EXPECT_FALSE(got);
    answer(client, got ? 500 : got.error().status(), "");
  };
  const auto result = talk(post("Content-Length: 10\r\n", "hello"));
  EXPECT_EQ(result.response.status, 503);
  EXPECT_TRUE(result.response.closes());
}

TEST_F(ServerRequestTest, BytesReceivedCountTheBodyOnly) {
  handler.script = [](ClientExchange& client) -> net::Task<> {
    const auto body = co_await read_all(client);
    if (body) answer(client, 200, std::to_string(client.bytes_received()));
  };
  auto client = connect();
  client.send(post("Transfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n"));
  EXPECT_EQ(read_response(client).body, "5");
  client.send(post("Content-Length: 3\r\n", "abc"));
  EXPECT_EQ(read_response(client).body, "3");
}

// ---- refusals -----------------------------------------------------------------------------------

TEST_F(ServerRequestTest, WhatCannotBeReadIsRefusedAndTheConnectionEnds) {
  bool handled = false;
  handler.script = [&handled](ClientExchange& client) -> net::Task<> {
    handled = true;
    answer(client, 200, "");
    co_return;
  };
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "X-" + std::to_string(i) + ": v\r\n";
  const struct {
    std::string_view name;
    std::string bytes;
    int status;
  } cases[] = {
      {"two lengths", post("Content-Length: 5\r\nContent-Length: 6\r\n", "hello"), 400},
      {"coding", post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 501},
      {"version", "GET /a HTTP/2.0\r\nHost: x\r\n\r\n", 505},
      {"no host", "GET /a HTTP/1.1\r\n\r\n", 400},
      {"target", get("/" + std::string(100000, 'a')), 414},
      {"fields", get("/a", many), 431},
      {"name", get("/a", std::string(70000, 'a') + ": v\r\n"), 431},
      {"value", get("/a", "X-A: " + std::string(2000000, 'a') + "\r\n"), 431},
      {"endless line", "GET /" + std::string(2000000, 'a'), 414},
      {"TLS", "\x16\x03\x01\x02\r\n\r\n", 400},
  };
  for (const auto& c : cases) {
    const auto result = talk(c.bytes + get("/second"));
    EXPECT_EQ(result.response.status, c.status) << c.name;
    EXPECT_TRUE(result.response.closes()) << c.name;
    EXPECT_EQ(result.response.body, "") << c.name;
    EXPECT_EQ(result.rest, "") << c.name;
    EXPECT_FALSE(result.reset) << c.name;
  }
  EXPECT_FALSE(handled);
}

TEST_F(ServerRequestTest, GenerousHeadsAreAccepted) {
  std::string lines;
  for (int i = 0; i < 80; ++i) lines += "X-" + std::to_string(i) + ": v\r\n";
  for (const auto& message :
       {get("/a", lines), get("/a", "X-A: " + std::string(32768, 'a') + "\r\n"),
        get("/a?" + std::string(8000, 'a'))}) {
    auto client = connect();
    client.send(message);
    EXPECT_EQ(read_response(client).body, "/a|");
  }
}

TEST_F(ServerRequestTest, ARefusalAfterGoodRequestsComesInOrder) {
  auto client = connect();
  client.send(get("/a") + get("/b") + "BAD\r\n\r\n" + get("/c"));
  EXPECT_EQ(read_response(client).body, "/a|");
  EXPECT_EQ(read_response(client).body, "/b|");
  const auto refused = read_response(client);
  EXPECT_EQ(refused.status, 400);
  EXPECT_TRUE(refused.closes());
  EXPECT_EQ(client.receive_rest(), "");
}

TEST_F(ServerRequestTest, AHeadThatDoesNotComeInTimeIsAnswered408) {
  settings.idle_connection_timeout = config::Seconds{0};
  auto client = connect();
  client.send("GET /a HTTP/1.1\r\nHo");
  // Its clock starts with the first bytes, which may be on their way still.
  while (!client.readable()) test::expire_deadlines(loop());
  const auto response = read_response(client);
  EXPECT_EQ(response.status, 408);
  EXPECT_TRUE(response.closes());
  EXPECT_EQ(client.receive(), "");
}

TEST_F(ServerRequestTest, AnIdleConnectionIsClosedSilently) {
  auto client = connect();
  client.send(get("/a"));
  EXPECT_EQ(read_response(client).status, 200);
  test::expire_deadlines(loop());
  EXPECT_EQ(client.receive(), "");
  EXPECT_FALSE(client.was_reset());
}

}  // namespace
}  // namespace smg::http
