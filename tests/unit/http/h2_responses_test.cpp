#include "unit/http/h2_client.hpp"
#include "unit/http/h2_frames.hpp"
#include "unit/http/server_fixture.hpp"

namespace smg::http {
namespace {

using test::await_frame;
using test::frame;
using test::greeting;
using test::literals;

std::string get_frame(std::uint32_t stream) {
  return frame(
      test::kHeaders, test::kEndHeaders | test::kEndStream, stream,
      literals(
          {{":method", "GET"}, {":scheme", "http"}, {":path", "/g"}, {":authority", "x.test"}}));
}

class H2ResponseTest : public ServerFixture {
 protected:
  /// Counts streams whose handlers were told that the client is gone.
  net::Task<> wait_until_gone(ClientExchange& client) {
    net::Gate gone(client.thread().executor());
    client.on_gone([&gone] { gone.open(); });
    started.set_value();
    while (!client.gone()) co_await gone.wait();
    client.on_gone(nullptr);
    told.set_value();
  }

  std::promise<void> started;
  std::promise<void> told;
};

// ---- heads --------------------------------------------------------------------------------------

TEST_F(H2ResponseTest, FieldsAreInLowerCaseAndWithoutThoseOfHttp1) {
  handler.script = [](ClientExchange& client) -> net::Task<> {
    client.write_head({207,
                       {{"X-One", "1"},
                        {"Connection", "x-one"},
                        {"Keep-Alive", "5"},
                        {"Proxy-Connection", "a"},
                        {"Transfer-Encoding", "chunked"},
                        {"Upgrade", "h2c"},
                        {"Content-Length", "99"}}},
                      BodyLength::known(2));
    client.write_body("hi", true);
    co_return;
  };
  H2Client client(connect());
  const auto& answer = client.answer(client.open("GET", "/"));
  EXPECT_EQ(answer.fields.size(), 4U);
  EXPECT_EQ(answer.fields.at(":status"), "207");
  EXPECT_EQ(answer.fields.at("x-one"), "1");
  EXPECT_EQ(answer.fields.at("content-length"), "2");
  EXPECT_TRUE(answer.fields.at("date").ends_with(" GMT"));
  EXPECT_EQ(answer.body, "hi");
}

TEST_F(H2ResponseTest, ADateOfTheWorkerStays) {
  handler.script = [](ClientExchange& client) -> net::Task<> {
    client.write_head({200, {{"Date", "then"}}}, BodyLength::known(0));
    client.write_body({}, true);
    co_return;
  };
  H2Client client(connect());
  EXPECT_EQ(client.answer(client.open("GET", "/")).fields.at("date"), "then");
}

TEST_F(H2ResponseTest, WithoutABodyTheHeadEndsTheStream) {
  struct Case {
    const char* method;
    int status;
    BodyLength length;
    const char* content_length;
  };
  for (const auto& [method, status, length, content_length] :
       {Case{"HEAD", 200, BodyLength::known(5), "5"}, Case{"GET", 204, BodyLength::none(), ""},
        Case{"GET", 304, BodyLength::known(5), ""}, Case{"GET", 200, BodyLength::known(0), "0"},
        Case{"HEAD", 200, BodyLength::chunked(), ""}}) {
    handler.script = [code = status, kind = length](ClientExchange& client) -> net::Task<> {
      client.write_head({code, {}}, kind);
      client.write_body(kind.bytes > 0 ? "12345" : "", true);
      co_return;
    };
    H2Client client(connect());
    auto& answer = client.answer(client.open(method, "/"));
    EXPECT_TRUE(answer.ended_by_head) << method << status;
    EXPECT_EQ(answer.error, 0U);
    EXPECT_EQ(answer.fields["content-length"], content_length) << method << status;
  }
}

TEST_F(H2ResponseTest, AHeadLeavesByItselfWhenFlushed) {
  net::Gate go(loop().executor());
  handler.script = [&](ClientExchange& client) -> net::Task<> {
    client.write_head({200, {}}, BodyLength::chunked());
    client.flush();
    co_await go.wait();
    client.write_body("late", true);
  };
  H2Client client(connect());
  const auto stream = client.open("GET", "/");
  ASSERT_TRUE(client.until([&] { return client.answers[stream].status == 200; }));
  EXPECT_FALSE(client.answers[stream].complete);
  test::call_on(loop(), [&] { go.open(); });
  EXPECT_EQ(client.answer(stream).body, "late");
}

// ---- bodies -------------------------------------------------------------------------------------

TEST_F(H2ResponseTest, NoDataFrameIsEmptyAndTheLastOneEndsTheStream) {
  handler.script = [](ClientExchange& client) -> net::Task<> {
    client.write_head({200, {}}, BodyLength::chunked());
    for (int i = 0; i < 200; ++i) {
      client.write_body("", false);
      client.write_body("event " + std::to_string(i), false);
      client.flush();
    }
    client.write_body("done", true);
    co_return;
  };
  auto client = connect();
  client.send(greeting() + get_frame(1));
  std::string body;
  for (;;) {
    const auto data = await_frame(client, test::kData);
    ASSERT_EQ(data.type, test::kData);
    ASSERT_FALSE(data.payload.empty());
    body += data.payload;
    if ((data.flags & test::kEndStream) != 0) break;
  }
  EXPECT_TRUE(body.starts_with("event 0event 1event 2")) << body.substr(0, 100);
  EXPECT_TRUE(body.ends_with("event 199done"));
}

TEST_F(H2ResponseTest, EachPieceArrivesBeforeTheNextIsWritten) {
  net::Gate next(loop().executor());
  handler.script = [&](ClientExchange& client) -> net::Task<> {
    client.write_head({200, {}}, BodyLength::chunked());
    for (int i = 0; i < 20; ++i) {
      client.write_body("x", i == 19);
      co_await next.wait();
    }
  };
  H2Client client(connect());
  const auto stream = client.open("GET", "/");
  for (std::size_t i = 1; i <= 20; ++i) {
    ASSERT_TRUE(client.until([&] { return client.answers[stream].body.size() == i; }));
    test::call_on(loop(), [&] { next.open(); });
  }
  EXPECT_TRUE(client.answer(stream).complete);
}

TEST_F(H2ResponseTest, AStreamThatIsNotReadStopsItsHandlerAndNoOther) {
  std::promise<std::size_t> full;
  handler.script = [&](ClientExchange& client) -> net::Task<> {
    if (client.head().path == "/other") co_return answer(client, 200, "free");
    client.write_head({200, {}}, BodyLength::chunked());
    std::size_t written = 0;
    while (!client.queue_full()) {
      client.write_body(std::string(10000, static_cast<char>('a' + written++ % 26)), false);
    }
    full.set_value(written);
    for (int i = 0; i < 300; ++i) {
      const bool room = co_await client.wait_for_room();
      if (!room) co_return;
      client.write_body(std::string(10000, static_cast<char>('a' + written++ % 26)), i == 299);
    }
    const bool drained = co_await client.wait_until_drained();
    if (drained) told.set_value();
  };
  H2Client client(connect(), {.initial_window = 65535});
  client.reads_at_once = false;
  const auto stalled = client.open("GET", "/stalled");
  const std::size_t written = full.get_future().get();
  EXPECT_LE(written * 10000, 65535U + 10000 * (ClientExchange::kMaxQueuedChunks + 1));
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(client.answer(client.open("GET", "/other")).body, "free");
  }
  EXPECT_EQ(client.answers[stalled].body.size(), 65535U);
  client.reads_at_once = true;
  client.read(stalled);
  const auto& answer = client.answer(stalled);
  ASSERT_TRUE(answer.complete);
  EXPECT_EQ(answer.error, 0U);
  ASSERT_EQ(answer.body.size(), (written + 300) * 10000);
  for (std::size_t i = 0; i < answer.body.size(); ++i) {
    ASSERT_EQ(answer.body[i], static_cast<char>('a' + i / 10000 % 26)) << i;
  }
  told.get_future().get();
}

TEST_F(H2ResponseTest, AConnectionThatIsNotReadGoesOnInOrder) {
  constexpr int kStreams = 20;
  handler.script = [&](ClientExchange& client) -> net::Task<> {
    client.write_head({200, {}}, BodyLength::known(1000000));
    for (int i = 0; i < 10; ++i) {
      client.write_body(std::string(100000, static_cast<char>('0' + i)), i == 9);
      const bool drained = co_await client.wait_until_drained();
      if (!drained) co_return;
    }
  };
  H2Client client(connect(4096, 4096));
  std::vector<std::int32_t> streams;
  for (int i = 0; i < kStreams; ++i) streams.push_back(client.open("GET", "/"));
  for (const auto stream : streams) {
    const auto& answer = client.answer(stream);
    ASSERT_EQ(answer.body.size(), 1000000U);
    for (std::size_t i = 0; i < answer.body.size(); i += 50000) {
      ASSERT_EQ(answer.body[i], static_cast<char>('0' + i / 100000));
    }
  }
}

TEST_F(H2ResponseTest, ABrokenOffResponseIsResetBehindWhatThereIs) {
  handler.script = [](ClientExchange& client) -> net::Task<> {
    if (client.head().path == "/nothing") co_return;
    client.write_head({200, {}}, BodyLength::chunked());
    if (client.head().path == "/some") client.write_body(std::string(200000, 'x'), false);
  };
  H2Client client(connect(), {.initial_window = 65535});
  for (const auto& [path, size] : {std::pair{"/some", 200000U}, std::pair{"/head", 0U}}) {
    const auto& answer = client.answer(client.open("GET", path));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body.size(), size);
    EXPECT_FALSE(answer.complete);
    EXPECT_EQ(answer.error, kH2InternalError);
  }
  EXPECT_EQ(client.answer(client.open("GET", "/nothing")).error, kH2InternalError);
}

TEST_F(H2ResponseTest, AClientThatTakesNothingIsGivenUp) {
  settings.idle_connection_timeout = config::Seconds{1};
  handler.script = [](ClientExchange& client) -> net::Task<> {
    answer(client, 200, std::string(200000, 'x'));
    co_return;
  };
  H2Client client(connect(), {.initial_window = 65535});
  client.reads_at_once = false;
  const auto& given_up = client.answer(client.open("GET", "/"));
  EXPECT_FALSE(given_up.complete);
  EXPECT_EQ(given_up.error, kH2InternalError);
}

TEST_F(H2ResponseTest, AnEarlyAnswerIsWholeAndTheUploadIsTakenWithinBounds) {
  handler.script = [](ClientExchange& client) -> net::Task<> {
    answer(client, 413, "too large");
    co_return;
  };
  H2Client client(connect());
  const auto expect_whole = [](const H2Answer& answer, const char* what) {
    EXPECT_EQ(answer.status, 413) << what;
    EXPECT_EQ(answer.body, "too large") << what;
    EXPECT_TRUE(answer.complete) << what;
    EXPECT_EQ(answer.error, kH2NoError) << what;
  };
  const auto bounded = client.open_with_body("/p", std::string(5000000, 'x'));
  expect_whole(client.answer(bounded), "bounded");
  EXPECT_EQ(client.unsent(bounded), 0U);
  const auto endless = client.open_with_body("/p", std::string(50000000, 'x'));
  expect_whole(client.answer(endless), "endless");
  EXPECT_GT(client.unsent(endless), 30000000U);
  const auto stalled = client.open_with_body("/p", "abc", false);
  ASSERT_TRUE(client.until([&] { return client.answers[stalled].complete; }));
  EXPECT_FALSE(client.answers[stalled].closed);
  test::expire_deadlines(loop());
  expect_whole(client.answer(stalled), "stalled");
}

// ---- clients that leave -------------------------------------------------------------------------

TEST_F(H2ResponseTest, AResetCancelsOneRequestOnly) {
  handler.script = [&](ClientExchange& client) -> net::Task<> {
    if (client.head().path == "/other") co_return answer(client, 200, "there");
    co_await wait_until_gone(client);
  };
  H2Client client(connect());
  const auto stream = client.open("GET", "/left");
  started.get_future().get();
  client.reset(stream);
  told.get_future().get();
  EXPECT_EQ(client.answer(client.open("GET", "/other")).body, "there");
}

TEST_F(H2ResponseTest, AResetWithoutAnErrorIsLeavingToo) {
  handler.script = [&](ClientExchange& client) { return wait_until_gone(client); };
  H2Client client(connect());
  const auto stream = client.open("GET", "/left");
  started.get_future().get();
  client.reset(stream, kH2NoError);
  told.get_future().get();
}

TEST_F(H2ResponseTest, TheEndOfTheConnectionCancelsItsRequests) {
  for (const bool by_reset : {false, true}) {
    started = {};
    told = {};
    handler.script = [&](ClientExchange& client) { return wait_until_gone(client); };
    H2Client client(connect());
    client.open("GET", "/left");
    started.get_future().get();
    if (by_reset) {
      client.socket().reset();
    } else {
      client.socket().finish_sending();
    }
    told.get_future().get();
    wait_for_the_end();
  }
}

TEST_F(H2ResponseTest, ALostUploadIsABodyAborted) {
  std::promise<ErrorCode> seen;
  handler.script = [&](ClientExchange& client) -> net::Task<> {
    started.set_value();
    const auto body = co_await read_all(client);
    seen.set_value(body ? ErrorCode::Internal : body.error().code);
  };
  H2Client client(connect());
  const auto stream = client.open_with_body("/p", "abc", false);
  started.get_future().get();
  client.reset(stream);
  EXPECT_EQ(seen.get_future().get(), ErrorCode::BodyAborted);
}

TEST_F(H2ResponseTest, AHandlerMayAbort) {
  handler.script = [](ClientExchange& client) -> net::Task<> {
    if (client.head().path == "/other") co_return answer(client, 200, "there");
    client.write_head({200, {}}, BodyLength::chunked());
    client.write_body("some", false);
    client.abort();
    client.abort();
    EXPECT_TRUE(client.gone());
    client.write_body("more", true);
  };
  H2Client client(connect());
  EXPECT_EQ(client.answer(client.open("GET", "/")).error, kH2InternalError);
  EXPECT_EQ(client.answer(client.open("GET", "/other")).body, "there");
}

}  // namespace
}  // namespace smg::http
