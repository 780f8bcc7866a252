#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "unit/upstream/upstream_fixture.hpp"

namespace smg::upstream {
namespace {

using test::RawSocket;

class ExchangeTest : public UpstreamFixture {
 protected:
  /// An exchange that the test drives step by step, on the first thread.
  void open() {
    exchange_ptr =
        test::run_on(loops[0], [this](net::IoThread& thread) -> net::Task<UpstreamExchangePtr> {
          auto opened = co_await pool->open(thread, abort);
          co_return std::move(*opened);
        });
    connection = std::make_unique<RawSocket>(worker.accept());
  }
  ~ExchangeTest() override {
    test::call_on(loops[0], [this] { exchange_ptr.reset(); });
  }

  UpstreamExchangePtr exchange_ptr;
};

// ---- responses ----------------------------------------------------------------------------------

struct Response {
  std::string_view name;
  std::string bytes;
  int status;
  std::string_view body;
};

const std::vector<Response> kResponses = {
    {"length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello"},
    {"empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, ""},
    {"chunked",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", 200,
     "hello"},
    {"trailers", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\nT: v\r\n\r\n",
     200, "x"},
    {"one interim", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
     200, "ok"},
    {"interims",
     "HTTP/1.1 102 P\r\n\r\nHTTP/1.1 103 E\r\nLink: x\r\n\r\nHTTP/1.1 404 N\r\nContent-Length: "
     "1\r\n\r\nx",
     404, "x"},
    {"204", "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", 204, ""},
    {"304", "HTTP/1.1 304 Not Modified\r\nTransfer-Encoding: chunked\r\n\r\n", 304, ""},
};

TEST_F(ExchangeTest, ResponsesAreReadInOnePieceAndByteByByte) {
  for (const auto& c : kResponses) {
    for (const std::size_t room : {1UL, 4096UL}) {
      auto whole = start(0, room);
      if (!connection) connection = std::make_unique<RawSocket>(worker.accept());
      static_cast<void>(connection->receive_until("\r\n\r\n"));
      connection->send(c.bytes);
      const auto got = whole.get();
      EXPECT_EQ(got.status, c.status) << c.name << ": " << got.error.message;
      EXPECT_EQ(got.body, c.body) << c.name;
      EXPECT_TRUE(got.response_begun);

      auto slow = start(0, room);
      static_cast<void>(connection->receive_until("\r\n\r\n"));
      for (const char byte : c.bytes) {
        connection->send({&byte, 1});
        test::settle(loops[0]);
      }
      EXPECT_EQ(slow.get().body, c.body) << c.name;
    }
  }
  EXPECT_FALSE(worker.has_pending());
}

TEST_F(ExchangeTest, ABodyMayEndWithTheConnection) {
  for (const std::string_view head : {"HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.0 200 OK\r\n\r\n"}) {
    auto running = start();
    RawSocket socket = worker.accept();
    static_cast<void>(socket.receive_until("\r\n\r\n"));
    socket.send(std::string(head) + "hel");
    socket.send("lo");
    socket.finish_sending();
    const auto got = running.get();
    EXPECT_EQ(got.status, 200);
    EXPECT_EQ(got.body, "hello");
  }
}

TEST_F(ExchangeTest, AHeadRequestHasNoBody) {
  auto running = start(0, 4096, "HEAD");
  RawSocket socket = worker.accept();
  EXPECT_TRUE(socket.receive_until("\r\n\r\n").starts_with("HEAD /t HTTP/1.1\r\n"));
  socket.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(running.get().status, 200);
  EXPECT_EQ(exchange(socket, kOk).body, "ok") << "the next request is a GET again";
}

TEST_F(ExchangeTest, FailuresTellWhetherAResponseHadBegun) {
  using enum ErrorCode;
  const struct {
    std::string_view name;
    std::string bytes;
    ErrorCode code;
    bool begun;
  } cases[] = {
      {"closed before a byte", "", UpstreamConnect, false},
      {"partial head", "HTTP/1.1 200 O", UpstreamConnect, true},
      {"one byte", "H", UpstreamConnect, true},
      {"interim, then closed", "HTTP/1.1 100 Continue\r\n\r\n", UpstreamConnect, true},
      {"not HTTP", "SSH-2.0-x\r\n", UpstreamConnect, true},
      {"garbage head", "garbage\r\n\r\n", UpstreamConnect, true},
      {"HTTP/2", "HTTP/2 200\r\n\r\n", UpstreamConnect, true},
      {"switched protocols", "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", UpstreamConnect, true},
      {"endless head", "HTTP/1.1 200 OK\r\nX: " + std::string(400000, 'a'), UpstreamConnect, true},
      {"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
       UpstreamConnect, true},
      {"cut by length", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel", UpstreamBodyFailed,
       true},
      {"cut chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
       UpstreamBodyFailed, true},
      {"no last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n",
       UpstreamBodyFailed, true},
      {"bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nok\r\n",
       UpstreamBodyFailed, true},
  };
  for (const auto& c : cases) {
    auto running = start();
    RawSocket socket = worker.accept();
    static_cast<void>(socket.receive_until("\r\n\r\n"));
    socket.send(c.bytes);
    socket.finish_sending();
    const auto got = running.get();
    EXPECT_EQ(got.status, 0) << c.name;
    EXPECT_EQ(got.error.code, c.code) << c.name;
    EXPECT_EQ(got.response_begun, c.begun) << c.name;
  }
}

TEST_F(ExchangeTest, AResetIsAFailureInEveryPhase) {
  for (const std::string_view bytes :
       {"", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
        "HTTP/1.1 200 OK\r\n\r\nhel"}) {
    auto running = start();
    RawSocket socket = worker.accept();
    static_cast<void>(socket.receive_until("\r\n\r\n"));
    socket.send(bytes);
    socket.reset();
    const auto got = running.get();
    EXPECT_EQ(got.status, 0) << bytes;
    EXPECT_EQ(row(got.error.code).fault, Fault::Worker) << bytes;
  }
}

/// What came before a fault of the coding is delivered, and nothing behind it, whatever the room.
TEST_F(ExchangeTest, NothingBehindBrokenChunksIsDelivered) {
  for (const std::size_t room : {1UL, 3UL, 8UL, 4096UL}) {
    auto running = start(0, room);
    RawSocket socket = worker.accept();
    static_cast<void>(socket.receive_until("\r\n\r\n"));
    socket.send(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nokXX5\r\nhello\r\n0\r\n\r\n");
    const auto got = running.get();
    EXPECT_EQ(got.status, 0) << room;
    EXPECT_EQ(got.error.code, ErrorCode::UpstreamBodyFailed) << room;
    EXPECT_EQ(got.body, "ok") << room;
    EXPECT_EQ(socket.receive(), "") << "the connection is not used again";
  }
}

TEST_F(ExchangeTest, RefusedConnectionsAreReported) {
  worker.close();
  const auto got = start().get();
  EXPECT_EQ(got.status, 0);
  EXPECT_EQ(got.error.code, ErrorCode::UpstreamConnect);
  EXPECT_FALSE(got.response_begun);
}

// ---- requests -----------------------------------------------------------------------------------

TEST_F(ExchangeTest, RequestsAreFramedAsTold) {
  const struct {
    std::string_view name;
    http::BodyLength length;
    std::vector<std::string_view> pieces;
    std::string wire;
  } cases[] = {
      {"known", http::BodyLength::known(5), {"hello"}, "content-length: 5\r\n\r\nhello"},
      {"known, empty", http::BodyLength::known(0), {""}, "content-length: 0\r\n\r\n"},
      {"none", http::BodyLength::none(), {""}, "a: b\r\n\r\n"},
      {"chunked",
       http::BodyLength::chunked(),
       {"he", "llo"},
       "transfer-encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"},
      {"chunked, end apart",
       http::BodyLength::chunked(),
       {"hello", ""},
       "transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"},
      {"chunked, empty",
       http::BodyLength::chunked(),
       {""},
       "transfer-encoding: chunked\r\n\r\n0\r\n\r\n"},
      {"chunked, empty piece within",
       http::BodyLength::chunked(),
       {"a", "", "b"},
       "transfer-encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n"},
      {"large chunk",
       http::BodyLength::chunked(),
       {std::string_view("0123456789abcdefX")},
       "transfer-encoding: chunked\r\n\r\n11\r\n0123456789abcdefX\r\n0\r\n\r\n"},
  };
  for (const auto& c : cases) {
    open();
    test::call_on(loops[0], [&] {
      const http::Fields fields{{"a", "b"}};
      exchange_ptr->write_head({"POST", "/t?", fields, c.length});
      for (std::size_t i = 0; i < c.pieces.size(); ++i) {
        EXPECT_TRUE(exchange_ptr->send({&c.pieces[i], 1}, i + 1 == c.pieces.size())) << c.name;
      }
      exchange_ptr.reset();
    });
    const auto wire = connection->receive_rest();
    EXPECT_TRUE(wire.starts_with("POST /t? HTTP/1.1\r\nhost: w:")) << c.name << wire;
    EXPECT_TRUE(wire.ends_with("a: b\r\n" + c.wire) || wire.ends_with(c.wire)) << c.name << wire;
  }
}

TEST_F(ExchangeTest, SeveralPiecesMakeOneChunk) {
  open();
  test::call_on(loops[0], [&] {
    exchange_ptr->write_head({"POST", "/t", {}, http::BodyLength::chunked()});
    const std::string_view pieces[] = {"ab", "", "cde"};
    EXPECT_TRUE(exchange_ptr->send(pieces, true));
    exchange_ptr.reset();
  });
  EXPECT_TRUE(connection->receive_rest().ends_with("\r\n\r\n5\r\nabcde\r\n0\r\n\r\n"));
}

TEST_F(ExchangeTest, KeptUnsentBytesArriveInOrderWhileTheirMemoryIsUsedAnew) {
  open();
  std::string expected;
  auto sending = test::start_on(loops[0], [&](net::IoThread&) -> net::Task<bool> {
    auto& exchange = *exchange_ptr;
    exchange.write_head({"POST", "/t", {}, http::BodyLength::known(16 << 20)});
    std::string buffer(1 << 20, '\0');
    for (int i = 0; i < 16; ++i) {
      std::fill(buffer.begin(), buffer.end(), static_cast<char>('A' + i));
      expected += buffer;
      const std::string_view piece = buffer;
      if (exchange.send({&piece, 1}, i == 15)) continue;
      exchange.keep_unsent();
      std::fill(buffer.begin(), buffer.end(), '!');
      const auto flushed = co_await exchange.flushed();
      if (!flushed) co_return false;
    }
    co_return true;
  });
  static_cast<void>(connection->receive_until("\r\n\r\n"));
  const std::string body = connection->receive_exactly(16 << 20);
  EXPECT_TRUE(sending.get());
  EXPECT_TRUE(body == expected);
}

TEST_F(ExchangeTest, AWorkerThatTakesNoMoreMayHaveAnsweredAlready) {
  open();
  const std::string body(64 << 20, 'x');
  auto running = test::start_on(loops[0], [&](net::IoThread&) -> net::Task<int> {
    auto& exchange = *exchange_ptr;
    exchange.write_head({"POST", "/t", {}, http::BodyLength::known(body.size())});
    const std::string_view piece = body;
    EXPECT_FALSE(exchange.send({&piece, 1}, true));
    auto head = co_await exchange.read_head();
    co_return head ? (*head)->status : 0;
  });
  static_cast<void>(connection->receive_until("\r\n\r\n"));
  connection->send("HTTP/1.1 413 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(running.get(), 413);
}

// ---- abort --------------------------------------------------------------------------------------

TEST_F(ExchangeTest, AbortEndsAnOpening) {
  abort.abort();
  const auto got = start().get();
  EXPECT_EQ(got.error.code, ErrorCode::Aborted);
}

TEST_F(ExchangeTest, AbortEndsEveryPhaseWithItsReasonAndTheWorkerSeesIt) {
  for (const std::string_view begun :
       {"", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab"}) {
    open();
    connection->send(begun);
    auto running =
        test::start_on(loops[0], [this](net::IoThread&) { return exchange_on(*exchange_ptr); });
    static_cast<void>(connection->receive_until("\r\n\r\n"));
    test::call_on(loops[0], [this] {
      exchange_ptr->abort(fail(ErrorCode::UpstreamTimeout, "first"));
      exchange_ptr->abort(fail(ErrorCode::ClientGone, "second"));
    });
    const auto got = running.get();
    EXPECT_EQ(got.error.code, ErrorCode::UpstreamTimeout) << begun;
    EXPECT_EQ(got.error.message, "first");
    EXPECT_EQ(connection->receive(), "");
    test::call_on(loops[0], [this] { exchange_ptr.reset(); });
  }
}

TEST_F(ExchangeTest, AfterAnAbortEveryCallFailsThoughBytesAreAtHand) {
  open();
  auto got = test::start_on(loops[0], [this](net::IoThread&) -> net::Task<std::vector<ErrorCode>> {
    auto& exchange = *exchange_ptr;
    std::vector<ErrorCode> codes;
    exchange.write_head({"GET", "/t", {}, http::BodyLength::none()});
    exchange.flush();
    auto head = co_await exchange.read_head();
    EXPECT_TRUE(head);
    exchange.abort(fail(ErrorCode::ClientGone));
    char room[16];
    EXPECT_TRUE(exchange.body_ready());
    const auto body = co_await exchange.read_body(room);
    codes.push_back(body ? ErrorCode::Internal : body.error().code);
    auto again = co_await exchange.read_head();
    codes.push_back(again ? ErrorCode::Internal : again.error().code);
    auto flushed = co_await exchange.flushed();
    codes.push_back(flushed ? ErrorCode::Internal : flushed.error().code);
    co_return codes;
  });
  static_cast<void>(connection->receive_until("\r\n\r\n"));
  connection->send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_EQ(got.get(), std::vector<ErrorCode>(3, ErrorCode::ClientGone));
}

TEST_F(ExchangeTest, AFastWorkerLeavesOthersTheirTurn) {
  open();
  auto got = test::start_on(loops[0], [this](net::IoThread&) -> net::Task<std::size_t> {
    auto& exchange = *exchange_ptr;
    exchange.write_head({"GET", "/t", {}, http::BodyLength::none()});
    exchange.flush();
    auto head = co_await exchange.read_head();
    EXPECT_TRUE(head);
    // All of the body is with the kernel when the first byte of it is read.
    connection->send(std::string(1000, 'x'));
    std::size_t waits = 0;
    char room[10];
    while (!exchange.body_ended()) {
      auto piece = exchange.try_read_body(room);
      if (!piece) {
        ++waits;
        co_await exchange.arrival();
      } else if (!*piece) {
        break;
      }
    }
    EXPECT_TRUE(exchange.body_ended());
    co_return waits;
  });
  static_cast<void>(connection->receive_until("\r\n\r\n"));
  connection->send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
  EXPECT_GE(got.get(), 10U);
}

TEST_F(ExchangeTest, AbortEndsAWaitForTheKernel) {
  open();
  const std::string body(64 << 20, 'x');
  std::promise<void> waiting;
  auto running = test::start_on(loops[0], [&](net::IoThread&) -> net::Task<ErrorCode> {
    auto& exchange = *exchange_ptr;
    exchange.write_head({"POST", "/t", {}, http::BodyLength::known(body.size())});
    const std::string_view piece = body;
    EXPECT_FALSE(exchange.send({&piece, 1}, true));
    waiting.set_value();
    auto flushed = co_await exchange.flushed();
    co_return flushed ? ErrorCode::Internal : flushed.error().code;
  });
  waiting.get_future().get();
  test::call_on(loops[0], [this] { exchange_ptr->abort(fail(ErrorCode::BodyStalled)); });
  EXPECT_EQ(running.get(), ErrorCode::BodyStalled);
}

}  // namespace
}  // namespace smg::upstream
