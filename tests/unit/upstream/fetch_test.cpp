#include <atomic>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "unit/upstream/upstream_fixture.hpp"
#include <smg/upstream/fetch.hpp>

namespace smg::upstream {
namespace {

using test::RawSocket;
using Fetched = Result<FetchedResponse>;

class FetchTest : public UpstreamFixture {
 protected:
  [[nodiscard]] std::future<Fetched> start_fetch(
      FetchRequest request = {"GET", "/health", {}, {}, {}, {}}, std::size_t limit = 1000) {
    return test::start_on(
        loops[0], [this, request, limit](net::IoThread& thread) -> net::Task<Fetched> {
          auto fetched = co_await fetch(thread, pool, request, std::chrono::hours(1), limit, abort);
          co_return fetched;
        });
  }

  [[nodiscard]] std::future<Fetched> start_stream(TakePiece take) {
    return test::start_on(
        loops[0], [this, take = std::move(take)](net::IoThread& thread) -> net::Task<Fetched> {
          FetchRequest request;
          request.target = "/watch";
          auto fetched = co_await fetch_stream(thread, pool, request, std::chrono::hours(1), 1000,
                                               take, abort);
          co_return fetched;
        });
  }

  /// Accepts, reads the request's head and answers.
  RawSocket serve(std::string_view response) {
    RawSocket socket = worker.accept();
    request_ = socket.receive_until("\r\n\r\n");
    socket.send(response);
    return socket;
  }
};

TEST_F(FetchTest, ReadsAWholeResponse) {
  auto fetching = start_fetch();
  const RawSocket socket = serve(
      "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nTransfer-Encoding: "
      "chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n");
  const auto fetched = fetching.get();
  ASSERT_TRUE(fetched);
  EXPECT_EQ(fetched->status, 200);
  EXPECT_EQ(fetched->content_type, "a/b");
  EXPECT_EQ(fetched->body, "ok");
  EXPECT_TRUE(fetched->ok());
  EXPECT_TRUE(request_.starts_with("GET /health HTTP/1.1\r\n")) << request_;
  EXPECT_EQ(request_.find("authorization"), std::string::npos);
  EXPECT_EQ(request_.find("content-length"), std::string::npos);
}

TEST_F(FetchTest, SendsItsBodyAndCredential) {
  const struct {
    FetchRequest request;
    std::string_view authorization;
  } cases[] = {
      {{"POST", "/flush", "key", "", "{}", "application/json"}, "authorization: Bearer key\r\n"},
      {{"POST", "/flush", "key", "Basic own", "{}", "application/json"},
       "authorization: Basic own\r\n"},
  };
  for (const auto& c : cases) {
    auto fetching = start_fetch(c.request);
    if (!connection) connection = std::make_unique<RawSocket>(worker.accept());
    const auto request = connection->receive_until("{}");
    connection->send(kOk);
    ASSERT_TRUE(fetching.get());
    EXPECT_NE(request.find(c.authorization), std::string::npos) << request;
    EXPECT_NE(request.find("content-type: application/json\r\n"), std::string::npos) << request;
    EXPECT_TRUE(request.ends_with("content-length: 2\r\n\r\n{}")) << request;
  }
}

TEST_F(FetchTest, RedirectsAndErrorsAreAnswersButNotOk) {
  for (const int status : {301, 404, 503}) {
    auto fetching = start_fetch();
    const RawSocket socket =
        serve("HTTP/1.1 " + std::to_string(status) +
              " X\r\nLocation: /elsewhere\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    const auto fetched = fetching.get();
    ASSERT_TRUE(fetched);
    EXPECT_EQ(fetched->status, status);
    EXPECT_FALSE(fetched->ok());
    EXPECT_FALSE(worker.has_pending());
  }
}

TEST_F(FetchTest, AFailureBeforeAnyResponseIsSentOnceMore) {
  auto fetching = start_fetch();
  serve("").close();
  const auto first = request_;
  const RawSocket socket = serve(kOk);
  const auto fetched = fetching.get();
  ASSERT_TRUE(fetched);
  EXPECT_EQ(fetched->body, "ok");
  EXPECT_EQ(request_, first);
}

TEST_F(FetchTest, TheResendIsToldOfEvenIfItFails) {
  std::atomic<int> resends{0};
  FetchRequest request;
  request.target = "/info";
  request.on_resend = [&resends] { ++resends; };
  auto fetching = start_fetch(request);
  serve("").close();
  serve("").close();
  EXPECT_FALSE(fetching.get());
  EXPECT_EQ(resends, 1);
}

TEST_F(FetchTest, WhatMustNotRunTwiceIsSentOnce) {
  std::atomic<int> resends{0};
  FetchRequest request;
  request.method = "POST";
  request.target = "/flush";
  request.resend = false;
  request.on_resend = [&resends] { ++resends; };
  auto fetching = start_fetch(request);
  serve("").close();
  const auto fetched = fetching.get();
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fetched.error().code, ErrorCode::UpstreamConnect);
  EXPECT_EQ(resends, 0);
  EXPECT_FALSE(worker.has_pending());
}

TEST_F(FetchTest, TwoFailuresAreFinal) {
  auto fetching = start_fetch();
  serve("").close();
  serve("").reset();
  const auto fetched = fetching.get();
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fetched.error().code, ErrorCode::UpstreamConnect);
  EXPECT_FALSE(worker.has_pending());
}

TEST_F(FetchTest, NothingIsSentAgainOnceAResponseHasBegun) {
  for (const std::string_view begun : {"H", "HTTP/1.1 100 Continue\r\n\r\n", "garbage\r\n\r\n",
                                       "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"}) {
    auto fetching = start_fetch();
    serve(begun).close();
    EXPECT_FALSE(fetching.get()) << begun;
    EXPECT_FALSE(worker.has_pending()) << begun;
  }
}

TEST_F(FetchTest, TheLimitHoldsToTheByte) {
  const auto answer_of = [](std::size_t size) {
    return "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: " + std::to_string(size) +
           "\r\n\r\n" + std::string(size, 'x');
  };
  for (const std::size_t size : {999UL, 1000UL}) {
    auto fetching = start_fetch();
    const RawSocket socket = serve(answer_of(size));
    const auto fetched = fetching.get();
    ASSERT_TRUE(fetched) << size;
    EXPECT_EQ(fetched->body.size(), size);
  }
  auto fetching = start_fetch();
  const RawSocket socket = serve(answer_of(1001));
  const auto fetched = fetching.get();
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fetched.error().code, ErrorCode::UpstreamResponseTooLarge);
}

TEST_F(FetchTest, ItsTimeIsUpInEveryPhase) {
  for (const std::string_view begun :
       {"", "HTTP/1.1 2", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel"}) {
    auto fetching = start_fetch();
    RawSocket socket = serve(begun);
    test::expire_deadlines(loops[0]);
    const auto fetched = fetching.get();
    ASSERT_FALSE(fetched) << begun;
    EXPECT_EQ(fetched.error().code, ErrorCode::UpstreamTimeout) << begun;
    EXPECT_EQ(socket.receive(), "") << "the worker sees the end";
    EXPECT_FALSE(worker.has_pending()) << "a timeout is not sent again";
  }
}

TEST_F(FetchTest, AStreamIsHandedOnPieceByPiece) {
  std::promise<std::string> first;
  std::string all;
  auto streaming = start_stream([&](std::string_view piece) {
    if (all.empty()) first.set_value(std::string(piece));
    all += piece;
    return true;
  });
  RawSocket socket = serve("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
  EXPECT_EQ(first.get_future().get(), "one");
  socket.send("4\r\n two\r\n0\r\n\r\n");
  const auto fetched = streaming.get();
  ASSERT_TRUE(fetched);
  EXPECT_EQ(all, "one two");
  EXPECT_EQ(fetched->body, "");
}

TEST_F(FetchTest, AStreamEndsWhenNoMoreIsWanted) {
  auto streaming = start_stream([](std::string_view) { return false; });
  RawSocket socket = serve("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
  ASSERT_TRUE(streaming.get());
  EXPECT_EQ(socket.receive(), "") << "the worker sees the end";
}

TEST_F(FetchTest, AStreamThatIsRefusedIsAnAnswer) {
  auto streaming = start_stream([](std::string_view) {
    ADD_FAILURE() << "nothing goes on";
    return true;
  });
  const RawSocket socket =
      serve("HTTP/1.1 410 Gone\r\nContent-Length: 4\r\nConnection: close\r\n\r\ngone");
  const auto fetched = streaming.get();
  ASSERT_TRUE(fetched);
  EXPECT_EQ(fetched->status, 410);
  EXPECT_EQ(fetched->body, "gone");
}

TEST_F(FetchTest, ASilentStreamEnds) {
  std::promise<void> begun;
  auto streaming = start_stream([&](std::string_view) {
    begun.set_value();
    return true;
  });
  RawSocket socket = serve("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n");
  begun.get_future().wait();
  test::expire_deadlines(loops[0]);
  const auto fetched = streaming.get();
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fetched.error().code, ErrorCode::UpstreamTimeout);
  EXPECT_EQ(socket.receive(), "");
}

TEST_F(FetchTest, AbortEndsIt) {
  auto fetching = start_fetch();
  RawSocket socket = serve("");
  test::call_on(loops[0], [this] { abort.abort(); });
  const auto fetched = fetching.get();
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fetched.error().code, ErrorCode::Aborted);
  EXPECT_EQ(socket.receive(), "");
  const auto later = start_fetch().get();
  ASSERT_FALSE(later);
  EXPECT_EQ(later.error().code, ErrorCode::Aborted);
  EXPECT_FALSE(worker.has_pending());
}

}  // namespace
}  // namespace smg::upstream
