#include <future>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "unit/http/server_fixture.hpp"

namespace smg::http {
namespace {

using test::read_response;

class ServerResponseTest : public ServerFixture {};

// ---- framing ------------------------------------------------------------------------------------

TEST_F(ServerResponseTest, HeadGetsTheHeadOnly) {
  handler.script = [](ClientExchange& client) -> net::Task<> {
    const bool chunked = client.head().path == "/chunked";
    client.write_head({200, {{"x-a", "b"}}},
                      chunked ? BodyLength::chunked() : BodyLength::known(5));
    client.write_body("hello", true);
    co_return;
  };
  auto client = connect();
  client.send("HEAD /a HTTP/1.1\r\nHost: x\r\n\r\nHEAD /chunked HTTP/1.1\r\nHost: x\r\n\r\n" +
              get("/a"));
  const auto head = read_response(client, true);
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.field("content-length"), "5");
  EXPECT_EQ(head.field("x-a"), "b");
  EXPECT_EQ(read_response(client, true).status, 200);
  EXPECT_EQ(read_response(client).body, "hello");
}

TEST_F(ServerResponseTest, BodilessStatusesHaveNoFraming) {
  handler.script = [](ClientExchange& client) -> net::Task<> {
    const int status = std::stoi(std::string(client.head().path.substr(1)));
    client.write_head({status, {}}, BodyLength::known(5));
    client.write_body("hello", true);
    co_return;
  };
  auto client = connect();
  client.send(get("/204") + get("/304") + get("/200"));
  for (const int status : {204, 304}) {
    const auto response = read_response(client);
    EXPECT_EQ(response.status, status);
    EXPECT_FALSE(response.has("content-length"));
    EXPECT_FALSE(response.has("transfer-encoding"));
  }
  EXPECT_EQ(read_response(client).body, "hello");
}

net::Task<> stream_three(ClientExchange& client) {
  client.write_head({200, {}}, BodyLength::chunked());
  client.flush();
  client.write_body("one", false);
  client.write_body("", false);
  client.write_body("two", false);
  client.write_body(client.head().path == "/empty-last" ? "" : "three", true);
  client.write_body("behind the end", true);
  co_return;
}

TEST_F(ServerResponseTest, StreamsAreChunkedAndEmptyPiecesDropped) {
  handler.script = stream_three;
  auto client = connect();
  client.send(get("/a") + get("/empty-last", "Connection: close\r\n"));
  const auto response = read_response(client);
  EXPECT_EQ(response.body, "onetwothree");
  EXPECT_FALSE(response.has("content-length"));
  const auto wire = client.receive_rest();
  EXPECT_TRUE(wire.ends_with("\r\n\r\n3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n")) << wire;
}

TEST_F(ServerResponseTest, StreamsToHttp10EndWithTheConnection) {
  handler.script = stream_three;
  const auto result = talk("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_FALSE(result.response.has("transfer-encoding"));
  EXPECT_TRUE(result.response.closes());
  EXPECT_EQ(result.response.body, "onetwothree");
  EXPECT_FALSE(result.reset);
}

TEST_F(ServerResponseTest, DateIsThereOnceAndAWorkersOwnPasses) {
  handler.script = [](ClientExchange& client) -> net::Task<> {
    Fields fields;
    if (client.head().path == "/own") fields.push_back({"Date", "Thu, 01 Jan 1970 00:00:00 GMT"});
    client.write_head({200, fields}, BodyLength::known(0));
    client.write_body({}, true);
    co_return;
  };
  auto client = connect();
  client.send(get("/a"));
  const auto ours = read_response(client);
  EXPECT_TRUE(ours.field("date").ends_with(" GMT")) << ours.head;
  EXPECT_EQ(ours.field("date").size(), 29U);
  client.send(get("/own"));
  const auto own = read_response(client);
  EXPECT_EQ(own.field("Date"), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_FALSE(own.has("date"));
}

TEST_F(ServerResponseTest, FieldsGoOutInOrderWithTheirRepetitions) {
  handler.script = [](ClientExchange& client) -> net::Task<> {
    client.write_head({201, {{"Set-Cookie", "a"}, {"x-b", ""}, {"Set-Cookie", "c"}}},
                      BodyLength::known(0));
    client.write_body({}, true);
    co_return;
  };
  auto client = connect();
  client.send(get("/a"));
  const auto response = read_response(client);
  EXPECT_TRUE(response.head.starts_with(
      "HTTP/1.1 201 Created\r\nSet-Cookie: a\r\nx-b: \r\nSet-Cookie: c\r\n"))
      << response.head;
}

TEST_F(ServerResponseTest, ABrokenOffResponseDoesNotLookComplete) {
  handler.script = [](ClientExchange& client) -> net::Task<> {
    const bool known = client.head().path == "/known";
    client.write_head({200, {}}, known ? BodyLength::known(100) : BodyLength::chunked());
    client.write_body("hello", false);
    co_return;
  };
  auto known = connect();
  known.send(get("/known"));
  EXPECT_TRUE(known.receive_rest().ends_with("\r\n\r\nhello"));
  auto chunked = connect();
  chunked.send(get("/chunked"));
  EXPECT_TRUE(chunked.receive_rest().ends_with("5\r\nhello\r\n"));
  auto old = connect();
  old.send("GET /chunked HTTP/1.0\r\n\r\n");
  static_cast<void>(old.receive_rest());
  EXPECT_TRUE(old.was_reset()) << "an orderly end would complete an HTTP/1.0 body";
}

TEST_F(ServerResponseTest, AHandlerThatAnswersNothingEndsTheConnection) {
  handler.script = [](ClientExchange&) -> net::Task<> { co_return; };
  const auto result = talk(get("/a"));
  EXPECT_EQ(result.response.status, 0);
}

// ---- the client leaves --------------------------------------------------------------------------

/// A request that goes on until its client has gone.
class ClientLeavesTest : public ServerFixture {
 protected:
  ClientLeavesTest() {
    handler.script = [this](ClientExchange& client) -> net::Task<> {
      static_cast<void>(co_await read_all(client));
      net::Gate gone(client.thread().executor());
      client.on_gone([&gone] { gone.open(); });
      started.set_value();
      co_await gone.wait();
      EXPECT_TRUE(client.gone());
      client.write_head({200, {}}, BodyLength::known(1));
      client.write_body("x", true);
      EXPECT_FALSE(co_await client.wait_until_drained());
      EXPECT_FALSE(co_await client.wait_for_room());
      left.set_value();
    };
  }

  std::promise<void> started;
  std::promise<void> left;
};

TEST_F(ClientLeavesTest, HalfCloseCountsAsGone) {
  auto client = connect();
  client.send(get("/a"));
  started.get_future().get();
  client.finish_sending();
  left.get_future().get();
  EXPECT_EQ(client.receive_rest(), "");
}

TEST_F(ClientLeavesTest, HalfCloseRightBehindTheRequestCountsToo) {
  auto client = connect();
  client.send(post("Content-Length: 5\r\n", "hello"));
  client.finish_sending();
  left.get_future().get();
  EXPECT_EQ(client.receive_rest(), "");
}

TEST_F(ClientLeavesTest, ResetIsNoticed) {
  auto client = connect();
  client.send(post("Transfer-Encoding: chunked\r\n", "1\r\nx\r\n0\r\n\r\n"));
  started.get_future().get();
  client.reset();
  left.get_future().get();
}

TEST_F(ClientLeavesTest, PipelinedBytesDoNotHideIt) {
  auto client = connect();
  client.send(get("/a") + get("/b"));
  started.get_future().get();
  client.send(get("/c"));
  client.finish_sending();
  left.get_future().get();
}

TEST_F(ClientLeavesTest, AbortCountsAsGone) {
  auto client = connect();
  client.send(get("/a"));
  started.get_future().get();
  test::call_on(loop(), [this] {
    shard.abort_all();
    shard.abort_all();
  });
  left.get_future().get();
  EXPECT_EQ(client.receive_rest(), "");
}

// ---- backpressure -------------------------------------------------------------------------------

TEST_F(ServerResponseTest, QueueIsFullAt32ChunksAndResumesWhenTheClientReads) {
  const std::string chunk(4 * 1024, 'x');
  std::promise<void> full;
  std::promise<bool> drained;
  std::size_t total = 0;
  handler.script = [&](ClientExchange& client) -> net::Task<> {
    const auto write = [&] {
      client.write_body(chunk, false);
      total += chunk.size();
    };
    client.write_head({200, {}}, BodyLength::chunked());
    while (!client.queue_full()) write();
    EXPECT_GE(total, ClientExchange::kMaxQueuedChunks * chunk.size());
    EXPECT_EQ(client.bytes_sent(), total);
    full.set_value();
    for (int i = 0; i < 200; ++i) {
      if (!co_await client.wait_for_room()) break;
      EXPECT_FALSE(client.queue_full());
      write();
    }
    client.write_body({}, true);
    drained.set_value(co_await client.wait_until_drained());
  };
  auto client = connect(8 * 1024, 8 * 1024);
  client.send(get("/a"));
  full.get_future().get();
  const auto response = read_response(client);
  EXPECT_TRUE(drained.get_future().get());
  EXPECT_EQ(response.body.size(), total);
  EXPECT_EQ(response.body.find_first_not_of('x'), std::string::npos);
}

TEST_F(ServerResponseTest, QueueIsFullSoonerWithLargeChunks) {
  const std::string chunk(64 * 1024, 'x');
  std::promise<void> full;
  std::size_t queued = 0;
  handler.script = [&](ClientExchange& client) -> net::Task<> {
    client.write_head({200, {}}, BodyLength::chunked());
    while (!client.behind()) client.write_body(chunk, false);
    for (; !client.queue_full(); ++queued) client.write_body(chunk, false);
    full.set_value();
    for (int i = 0; i < 30; ++i) {
      if (!co_await client.wait_for_room()) break;
      client.write_body(chunk, false);
    }
    client.write_body({}, true);
  };
  auto client = connect(8 * 1024, 8 * 1024);
  client.send(get("/a"));
  full.get_future().get();
  EXPECT_LE(queued * chunk.size(), ClientExchange::kMaxQueuedBytes);
  EXPECT_EQ(read_response(client).body.find_first_not_of('x'), std::string::npos);
}

TEST_F(ServerResponseTest, AClientThatLeavesEndsTheWaitForRoom) {
  std::promise<void> full;
  std::promise<bool> room;
  handler.script = [&](ClientExchange& client) -> net::Task<> {
    client.write_head({200, {}}, BodyLength::chunked());
    while (!client.queue_full()) client.write_body(std::string(16 * 1024, 'x'), false);
    full.set_value();
    room.set_value(co_await client.wait_for_room());
  };
  auto client = connect(8 * 1024, 8 * 1024);
  client.send(get("/a"));
  full.get_future().get();
  client.reset();
  EXPECT_FALSE(room.get_future().get());
}

TEST_F(ServerResponseTest, LargeResponsesArriveWholeThroughASmallWindow) {
  std::string body(3 << 20, '\0');
  for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>(i * 31 >> 8);
  handler.script = [&](ClientExchange& client) -> net::Task<> {
    client.write_head({200, {}}, BodyLength::known(body.size()));
    client.write_body(std::string_view(body).substr(0, 1000), false);
    client.write_body(std::string_view(body).substr(1000), true);
    EXPECT_TRUE(co_await client.wait_until_drained());
  };
  auto client = connect(8 * 1024, 8 * 1024);
  client.send(get("/a"));
  EXPECT_EQ(read_response(client).body, body);
}

// ---- ends of connections ------------------------------------------------------------------------

TEST_F(ServerResponseTest, AnEarlyAnswerReachesAClientThatIsStillSending) {
  handler.script = [](ClientExchange& client) -> net::Task<> {
    answer(client, 413, "too large");
    co_return;
  };
  auto client = connect();
  client.send(post("Content-Length: 4194304\r\n", ""));
  for (int i = 0; i < 64; ++i) EXPECT_TRUE(client.send(std::string(65536, 'x'))) << i;
  const auto response = read_response(client);
  EXPECT_EQ(response.status, 413);
  EXPECT_EQ(response.body, "too large");
  EXPECT_TRUE(response.closes());
  EXPECT_EQ(client.receive(), "");
  EXPECT_FALSE(client.was_reset());
}

TEST_F(ServerResponseTest, LingeringIsBoundedInTime) {
  handler.script = [](ClientExchange& client) -> net::Task<> {
    answer(client, 404, "");
    co_return;
  };
  auto client = connect();
  client.send(post("Content-Length: 50000000\r\n", std::string(100, 'x')));
  const auto response = read_response(client);
  EXPECT_EQ(response.status, 404);
  EXPECT_TRUE(response.closes());
  EXPECT_EQ(client.receive(), "") << "our end of the connection is announced at once";
  while (shard.connections() > 0) test::expire_deadlines(loop());
}

TEST_F(ServerResponseTest, LingeringIsBoundedInAmount) {
  handler.script = [](ClientExchange& client) -> net::Task<> {
    answer(client, 404, "");
    co_return;
  };
  auto client = connect();
  client.send(post("Content-Length: 50000000\r\n", ""));
  EXPECT_EQ(read_response(client).status, 404);
  std::size_t sent = 0;
  while (sent < (64U << 20) && client.send(std::string(65536, 'x'))) sent += 65536;
  EXPECT_LT(sent, 64U << 20) << "it is cut off some time";
  EXPECT_GE(sent, 8U << 20);
}

TEST_F(ServerResponseTest, DrainClosesIdleConnectionsAndHalfSentHeads) {
  auto idle = connect();
  auto half = connect();
  half.send("GET /a HTT");
  auto used = connect();
  used.send(get("/a"));
  EXPECT_EQ(read_response(used).status, 200);
  test::call_on(loop(), [this] { shard.drain(); });
  EXPECT_EQ(idle.receive(), "");
  EXPECT_EQ(half.receive(), "");
  EXPECT_EQ(used.receive(), "");
  wait_for_the_end();
  EXPECT_EQ(shard.connections(), 0U);
}

TEST_F(ServerResponseTest, DrainLetsARunningRequestFinish) {
  std::promise<void> started;
  net::Gate finish(loop().executor());
  handler.script = [&](ClientExchange& client) -> net::Task<> {
    started.set_value();
    co_await finish.wait();
    answer(client, 200, "done");
  };
  auto client = connect();
  client.send(get("/a"));
  started.get_future().get();
  test::call_on(loop(), [&] {
    shard.drain();
    finish.open();
  });
  const auto response = read_response(client);
  EXPECT_EQ(response.body, "done");
  EXPECT_TRUE(response.closes());
  EXPECT_EQ(client.receive(), "");
  auto late = connect();
  EXPECT_EQ(late.receive(), "") << "no new connection is served";
}

TEST_F(ServerResponseTest, DrainBehindAHeadStillClosesBehindTheResponse) {
  std::promise<void> head_sent;
  net::Gate finish(loop().executor());
  handler.script = [&](ClientExchange& client) -> net::Task<> {
    client.write_head({200, {}}, BodyLength::chunked());
    client.flush();
    head_sent.set_value();
    co_await finish.wait();
    client.write_body("done", true);
  };
  auto client = connect();
  client.send(get("/a"));
  head_sent.get_future().get();
  test::call_on(loop(), [&] {
    shard.drain();
    finish.open();
  });
  EXPECT_EQ(read_response(client).body, "done");
  EXPECT_EQ(client.receive(), "");
}

}  // namespace
}  // namespace smg::http
