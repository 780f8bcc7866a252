#include "unit/http/h2_client.hpp"
#include "unit/http/h2_frames.hpp"
#include "unit/http/server_fixture.hpp"

namespace smg::http {
namespace {

using test::await_frame;
using test::frame;
using test::greeting;
using test::literals;
using test::RawFields;

class H2RequestTest : public ServerFixture {
 protected:
  /// What a handler made of a request.
  [[nodiscard]] static std::string describe(const RequestHead& head) {
    std::string text = std::string(name(head.method)) + " " + std::string(head.path) + " ?" +
                       std::string(head.query) + " " + std::to_string(head.version);
    text += head.content_length ? " " + std::to_string(*head.content_length) : " -";
    for (const auto& field : head.fields) {
      text += " " + std::string(field.name) + "=" + std::string(field.value);
    }
    return text;
  }
};

const RawFields kGet{
    {":method", "GET"}, {":scheme", "http"}, {":path", "/g"}, {":authority", "x.test"}};

RawFields with(RawFields fields, const RawFields& further) {
  fields.insert(fields.end(), further.begin(), further.end());
  return fields;
}

RawFields without(std::string_view name) {
  RawFields fields = kGet;
  std::erase_if(fields, [&](const auto& field) { return field.first == name; });
  return fields;
}

// ---- which protocol -----------------------------------------------------------------------------

TEST_F(H2RequestTest, ThePrefaceMayArriveInPieces) {
  for (const std::size_t size : {1U, 5U, 17U, 24U}) {
    auto client = connect();
    const std::string bytes =
        greeting() + frame(test::kHeaders, test::kEndHeaders | test::kEndStream, 1, literals(kGet));
    for (std::size_t at = 0; at < bytes.size(); at += size) {
      client.send(std::string_view(bytes).substr(at, size));
      test::settle(loop());  // so that the pieces arrive as pieces
    }
    EXPECT_EQ(await_frame(client, test::kData).payload, "/g|") << size;
  }
}

TEST_F(H2RequestTest, WhatOnlyLooksLikeAPrefaceIsHttp1) {
  struct Case {
    std::string_view bytes;
    int status;
  };
  for (const auto& [bytes, status] :
       {Case{"PRI * HTTP/2.0\r\n\r\nSX", 505}, Case{"PRI * HTTP/1.0\r\n\r\n", 200},
        Case{"PUT /a HTTP/1.0\r\n\r\n", 200}, Case{"\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505}}) {
    EXPECT_EQ(talk(bytes).response.status, status) << bytes;
  }
}

TEST_F(H2RequestTest, AHalfPrefaceHasTheTimeOfAHead) {
  settings.idle_connection_timeout = config::Seconds{0};
  auto client = connect();
  client.send("PRI * HTTP/2.0\r\n\r\nSM");
  // Its clock starts with the first bytes, which may be on their way still.
  while (!client.readable()) test::expire_deadlines(loop());
  EXPECT_EQ(test::read_response(client).status, 408);
}

// ---- heads --------------------------------------------------------------------------------------

TEST_F(H2RequestTest, ARequestIsWhatItsFieldsSay) {
  std::promise<std::string> seen;
  handler.script = [&](ClientExchange& client) -> net::Task<> {
    seen.set_value(describe(client.head()));
    answer(client, 204, "");
    co_return;
  };
  H2Client client(connect());
  const auto stream = client.open("PUT", "/a/b?c=d?#e",
                                  {{"content-length", "0"},
                                   {"cookie", "a=1"},
                                   {"te", "trailers"},
                                   {"host", "x.test"},
                                   {"cookie", "b=2"}});
  EXPECT_EQ(client.answer(stream).status, 204);
  EXPECT_EQ(seen.get_future().get(),
            "PUT /a/b ?c=d? 20 0 host=x.test content-length=0 te=trailers cookie=a=1; b=2");
}

TEST_F(H2RequestTest, MalformedRequestsAreResetAndTheConnectionGoesOn) {
  struct Case {
    const char* what;
    RawFields fields;
  };
  const Case cases[] = {
      {"upper case", with(kGet, {{"X-Name", "v"}})},
      {"connection", with(kGet, {{"connection", "close"}})},
      {"keep-alive", with(kGet, {{"keep-alive", "1"}})},
      {"transfer-encoding", with(kGet, {{"transfer-encoding", "chunked"}})},
      {"upgrade", with(kGet, {{"upgrade", "h2c"}})},
      {"te", with(kGet, {{"te", "gzip"}})},
      {"no method", without(":method")},
      {"no scheme", without(":scheme")},
      {"no path", without(":path")},
      {"no authority", without(":authority")},
      {"two paths", with(kGet, {{":path", "/other"}})},
      {"pseudo-field behind others", with(without(":path"), {{"a", "b"}, {":path", "/g"}})},
      {"unknown pseudo-field", with(without(":path"), {{":path", "/g"}, {":x", "y"}})},
      {"blank in a name", with(kGet, {{"a b", "v"}})},
      {"line feed in a value", with(kGet, {{"a", "b\nc"}})},
      {"two lengths", with(kGet, {{"content-length", "1"}, {"content-length", "2"}})},
      {"signed length", with(kGet, {{"content-length", "+1"}})},
      {"another host", with(kGet, {{"host", "y.test"}})},
  };
  for (const auto& [what, fields] : cases) {
    auto client = connect();
    client.send(greeting() +
                frame(test::kHeaders, test::kEndHeaders | test::kEndStream, 1, literals(fields)));
    const auto reset = await_frame(client, test::kRstStream);
    ASSERT_EQ(reset.type, test::kRstStream) << what;
    EXPECT_EQ(reset.number(), kH2ProtocolError) << what;
    client.send(frame(test::kHeaders, test::kEndHeaders | test::kEndStream, 3, literals(kGet)));
    EXPECT_EQ(await_frame(client, test::kData).payload, "/g|") << what;
  }
}

TEST_F(H2RequestTest, AHeadThatIsTooLargeIsAnswered431) {
  H2Client client(connect());
  const std::string large(9000, 'v');
  const auto stream = client.open("GET", "/large", {{"a", large}, {"b", large}});
  EXPECT_EQ(client.answer(stream).status, 431);
  const auto upload = client.open_with_body("/large", "body", false, {{"a", large}, {"b", large}});
  ASSERT_TRUE(client.until([&] { return client.answers[upload].complete; }));
  EXPECT_EQ(client.answers[upload].status, 431);
  EXPECT_EQ(client.answer(client.open("GET", "/small", {{"a", large}})).body, "/small|");
}

// ---- bodies -------------------------------------------------------------------------------------

TEST_F(H2RequestTest, BodiesArriveWholeWithAndWithoutALength) {
  for (const std::size_t room : {1UL, 1000UL, 100000UL}) {
    handler.script = [room](ClientExchange& client) -> net::Task<> {
      const auto body = co_await read_all(client, room);
      if (body) answer(client, 200, *body);
    };
    std::string body(room == 1 ? 3000U : 3000000U, '\0');
    for (std::size_t i = 0; i < body.size(); ++i) body[i] = static_cast<char>('a' + i * 31 % 26);
    const std::string length = std::to_string(body.size());
    H2Client client(connect());
    const auto known = client.open_with_body("/p", body, true, {{"content-length", length}});
    const auto unknown = client.open_with_body("/p", body);
    EXPECT_EQ(client.answer(known).body, body) << room;
    EXPECT_EQ(client.answer(unknown).body, body) << room;
  }
}

TEST_F(H2RequestTest, AnEmptyBodyEndsWithItsStream) {
  H2Client client(connect());
  EXPECT_EQ(client.answer(client.open_with_body("/p", "")).body, "/p|");
  EXPECT_EQ(client.answer(client.open("POST", "/p")).body, "/p|");
}

TEST_F(H2RequestTest, TrailersEndABody) {
  auto client = connect();
  client.send(greeting() + frame(test::kHeaders, test::kEndHeaders, 1, literals(kGet)) +
              frame(test::kData, 0, 1, "hello") +
              frame(test::kHeaders, test::kEndHeaders | test::kEndStream, 1,
                    literals({{"checksum", "1"}})));
  EXPECT_EQ(await_frame(client, test::kData).payload, "/g|hello");
}

TEST_F(H2RequestTest, ALengthThatLiesIsAProtocolError) {
  struct Case {
    const char* length;
    const char* sent;
  };
  for (const auto& [length, sent] : {Case{"3", "ab"}, Case{"3", "abcd"}, Case{"0", "a"}}) {
    std::promise<ErrorCode> seen;
    handler.script = [&](ClientExchange& client) -> net::Task<> {
      const auto body = co_await read_all(client);
      seen.set_value(body ? ErrorCode::Internal : body.error().code);
    };
    auto client = connect();
    client.send(greeting() + frame(test::kHeaders, test::kEndHeaders, 1,
                                   literals(with(kGet, {{"content-length", length}}))));
    client.send(frame(test::kData, test::kEndStream, 1, sent));
    EXPECT_EQ(await_frame(client, test::kRstStream).number(), kH2ProtocolError) << sent;
    // A request that is malformed as soon as it is there may never reach a handler.
    client.close();
    wait_for_the_end();
    auto future = seen.get_future();
    if (future.wait_for(std::chrono::seconds(0)) == std::future_status::ready) {
      EXPECT_EQ(future.get(), ErrorCode::BodyAborted) << sent;
    }
  }
}

TEST_F(H2RequestTest, ContinueIsSentWhenTheBodyIsAskedFor) {
  H2Client client(connect());
  const auto stream = client.open_with_body("/p", "", false, {{"expect", "100-continue"}});
  ASSERT_TRUE(client.until([&] { return !client.answers[stream].interim.empty(); }));
  client.send_body(stream, "late", true);
  EXPECT_EQ(client.answer(stream).body, "/p|late");
  EXPECT_EQ(client.answers[stream].interim, std::vector<int>{100});
}

TEST_F(H2RequestTest, AClientThatDoesNotWaitGetsNoContinue) {
  H2Client client(connect());
  const auto stream = client.open("POST", "/p", {{"expect", "100-continue"}});
  EXPECT_EQ(client.answer(stream).body, "/p|");
  EXPECT_TRUE(client.answers[stream].interim.empty());
}

TEST_F(H2RequestTest, AnUnreadUploadStopsAtTheWindowOfItsStreamAlone) {
  std::promise<ClientExchange*> held;
  net::Gate go(loop().executor());
  handler.script = [&](ClientExchange& client) -> net::Task<> {
    if (client.head().path == "/held") {
      held.set_value(&client);
      co_await go.wait();
    }
    const auto body = co_await read_all(client);
    if (body) answer(client, 200, std::to_string(body->size()));
  };
  H2Client client(connect());
  const auto stalled = client.open_with_body("/held", std::string(3000000, 'x'));
  held.get_future().get();
  // The other one's answer comes behind all the window updates there are.
  const auto other = client.open_with_body("/free", std::string(3000000, 'y'));
  EXPECT_EQ(client.answer(other).body, "3000000");
  EXPECT_EQ(client.unsent(stalled), 3000000U - 1024 * 1024);
  test::call_on(loop(), [&] { go.open(); });
  EXPECT_EQ(client.answer(stalled).body, "3000000");
}

TEST_F(H2RequestTest, ACancelledReadEndsAborted) {
  std::promise<ErrorCode> seen;
  std::promise<ClientExchange*> reading;
  handler.script = [&](ClientExchange& client) -> net::Task<> {
    reading.set_value(&client);
    const auto body = co_await read_all(client);
    seen.set_value(body ? ErrorCode::Internal : body.error().code);
    answer(client, 400, "");
  };
  H2Client client(connect());
  const auto stream = client.open_with_body("/p", "abc", false);
  ClientExchange* exchange = reading.get_future().get();
  test::call_on(loop(), [&] { exchange->cancel_read(); });
  EXPECT_EQ(seen.get_future().get(), ErrorCode::Aborted);
  ASSERT_TRUE(client.until([&] { return client.answers[stream].complete; }));
  EXPECT_EQ(client.answers[stream].status, 400);
}

}  // namespace
}  // namespace smg::http
