#include <map>

#include <gtest/gtest.h>

#include "unit/http/h2_frames.hpp"
#include <smg/http/h2_session.hpp>

namespace smg::http {
namespace {

/// Records what a session tells, and sends the bodies that it is given.
class Recorder final : public H2SessionObserver {
 public:
  void on_fields(std::int32_t stream, H2FieldBlock&& block, bool end_stream) override {
    std::string text;
    for (std::size_t i = 0; i < block.entries.size(); ++i) {
      text += std::string(block.field(i).name) + "=" + std::string(block.field(i).value) + " ";
    }
    note(stream, text + (end_stream ? "end" : "open"));
  }
  void on_fields_too_large(std::int32_t stream, bool) override { note(stream, "too large"); }
  void on_data(std::int32_t stream, std::string_view bytes) override { received[stream] += bytes; }
  void on_end_stream(std::int32_t stream) override { note(stream, "end"); }
  void on_end_sent(std::int32_t stream) override { note(stream, "end sent"); }
  void on_stream_closed(std::int32_t stream, std::uint32_t error_code) override {
    note(stream, "closed " + std::to_string(error_code));
  }
  void on_goaway(std::int32_t last_stream, std::uint32_t error_code) override {
    note(0, "goaway " + std::to_string(last_stream) + " " + std::to_string(error_code));
  }
  void on_ping_ack() override { note(0, "pong"); }
  void on_settings() override {}
  BodyPiece fill_body(std::int32_t stream, std::span<char> into) override {
    std::string& body = bodies[stream];
    const auto size = std::min(into.size(), body.size());
    std::copy_n(body.data(), size, into.data());
    body.erase(0, size);
    return {size, body.empty() && !endless};
  }

  std::vector<std::string> take(std::int32_t stream) { return std::exchange(events[stream], {}); }

  std::map<std::int32_t, std::vector<std::string>> events;
  std::map<std::int32_t, std::string> received;
  std::map<std::int32_t, std::string> bodies;
  bool endless = false;

 private:
  void note(std::int32_t stream, std::string event) { events[stream].push_back(std::move(event)); }
};

using Events = std::vector<std::string>;

class H2SessionTest : public testing::Test {
 protected:
  /// Carries bytes both ways until neither side has any.
  void exchange_bytes() {
    for (bool moved = true; moved;) {
      moved = carry(*client, *server);
      moved = carry(*server, *client) || moved;
    }
  }

  static bool carry(H2Session& from, H2Session& to) {
    std::string bytes;
    from.take_output(bytes, 1024 * 1024);
    EXPECT_TRUE(to.feed(bytes));
    return !bytes.empty();
  }

  std::int32_t request(bool has_body, std::vector<Field> further = {}) {
    std::vector<Field> fields{
        {":method", "POST"}, {":scheme", "http"}, {":authority", "x"}, {":path", "/"}};
    fields.insert(fields.end(), further.begin(), further.end());
    return client->submit_request(fields, has_body);
  }

  void respond(std::int32_t stream, bool has_body) {
    const Field status{":status", "200"};
    server->submit_response(stream, {&status, 1}, has_body);
  }

  Recorder at_client;
  Recorder at_server;
  std::unique_ptr<H2Session> client = H2Session::client(at_client, {});
  std::unique_ptr<H2Session> server = H2Session::server(at_server, {.max_header_list = 1000});
};

/// The block of stream 1 in a HEADERS frame and eight CONTINUATION frames, six of them empty.
std::string in_nine_frames(const std::string& first, const std::string& second,
                           const std::string& last) {
  std::string wire = test::frame(test::kHeaders, test::kEndStream, 1, first);
  wire += test::frame(test::kContinuation, 0, 1, second);
  for (int i = 0; i < 6; ++i) wire += test::frame(test::kContinuation, 0, 1);
  return wire + test::frame(test::kContinuation, test::kEndHeaders, 1, last);
}

TEST_F(H2SessionTest, TheBlockOfARequestMayArriveByteByByte) {
  const std::string wire =
      std::string(test::kPreface) + test::frame(test::kSettings, 0, 0) +
      in_nine_frames(test::literals({{":method", "GET"}, {":scheme", "http"}}),
                     test::literals({{":path", "/"}}), test::literals({{":authority", "x"}}));
  for (const char& byte : wire) ASSERT_TRUE(server->feed({&byte, 1}));
  EXPECT_EQ(at_server.take(1), Events{":method=GET :scheme=http :path=/ :authority=x end"});
}

TEST_F(H2SessionTest, TheBlockOfAResponseMayArriveByteByByte) {
  request(false);
  std::string sent;
  client->take_output(sent, std::string::npos);
  const std::string wire =
      test::frame(test::kSettings, 0, 0) + in_nine_frames(test::literals({{":status", "200"}}),
                                                          test::literals({{"a", "1"}}),
                                                          test::literals({{"b", "2"}}));
  for (const char& byte : wire) ASSERT_TRUE(client->feed({&byte, 1}));
  EXPECT_EQ(at_client.take(1), (Events{"end sent", ":status=200 a=1 b=2 end", "closed 0"}));
}

TEST_F(H2SessionTest, ARequestAndItsResponse) {
  at_client.bodies[1] = "question";
  at_server.bodies[1] = "answer";
  EXPECT_EQ(request(true), 1);
  exchange_bytes();
  EXPECT_EQ(at_server.take(1),
            (Events{":method=POST :scheme=http :authority=x :path=/ open", "end"}));
  EXPECT_EQ(at_server.received[1], "question");
  respond(1, true);
  exchange_bytes();
  EXPECT_EQ(at_server.take(1), (Events{"end sent", "closed 0"}));
  EXPECT_EQ(at_client.take(1), (Events{"end sent", ":status=200 open", "end", "closed 0"}));
  EXPECT_EQ(at_client.received[1], "answer");
}

TEST_F(H2SessionTest, AStreamWindowOpensByConsumptionAndHoldsUpNoOther) {
  at_client.bodies[1] = std::string(3000000, 'a');
  at_client.bodies[3] = std::string(500000, 'b');
  request(true);
  exchange_bytes();
  request(true);
  exchange_bytes();
  EXPECT_EQ(at_server.received[1].size(), 1024U * 1024);
  EXPECT_EQ(at_server.received[3].size(), 500000U);
  server->consume(1, 1024 * 1024);
  exchange_bytes();
  EXPECT_EQ(at_server.received[1].size(), 2 * 1024U * 1024);
}

TEST_F(H2SessionTest, AServerIsToldOfFieldsThatAreTooLarge) {
  const std::string large(600, 'v');
  request(false, {{"a", large}, {"b", large}});
  request(false, {{"a", large}});
  exchange_bytes();
  EXPECT_EQ(at_server.take(1), Events{"too large"});
  EXPECT_EQ(at_server.take(3).size(), 1U);
  respond(1, false);
  exchange_bytes();
  EXPECT_EQ(at_client.take(1), (Events{"end sent", ":status=200 end", "closed 0"}));
}

TEST_F(H2SessionTest, AClientResetsFieldsThatAreTooLarge) {
  client = H2Session::client(at_client, {.max_header_list = 1000});
  request(false);
  exchange_bytes();
  const std::string large(2000, 'v');
  const Field fields[] = {{":status", "200"}, {"a", large}};
  server->submit_response(1, fields, false);
  exchange_bytes();
  EXPECT_EQ(at_client.take(1).back(), "closed " + std::to_string(kH2InternalError));
}

TEST_F(H2SessionTest, AResponseHeadThatCannotBeSentResetsItsStream) {
  request(false);
  exchange_bytes();
  const std::string large(60000, 'v');
  std::vector<Field> fields{{":status", "200"}};
  for (int i = 0; i < 10; ++i) fields.push_back({"a", large});
  server->submit_response(1, fields, false);
  exchange_bytes();
  EXPECT_EQ(at_client.take(1), (Events{"end sent", "closed " + std::to_string(kH2InternalError)}));
}

TEST_F(H2SessionTest, InterimResponsesComeFirst) {
  request(false);
  exchange_bytes();
  const Field interim{":status", "100"};
  server->submit_interim(1, {&interim, 1});
  respond(1, false);
  exchange_bytes();
  EXPECT_EQ(at_client.take(1),
            (Events{"end sent", ":status=100 open", ":status=200 end", "closed 0"}));
}

TEST_F(H2SessionTest, ABodyWithoutBytesForNowSendsNoFrame) {
  at_server.endless = true;
  request(false);
  exchange_bytes();
  respond(1, true);
  exchange_bytes();
  std::string out;
  server->resume_body(1);
  server->take_output(out, 1024);
  EXPECT_EQ(out, "");
  at_server.bodies[1] = "x";
  server->resume_body(1);
  server->take_output(out, 1024);
  EXPECT_EQ(out.size(), 10U);
}

TEST_F(H2SessionTest, HalfAFieldBlockShows) {
  request(false, {{"a", "b"}});
  std::string bytes;
  client->take_output(bytes, 1024);
  EXPECT_TRUE(server->feed(std::string_view(bytes).substr(0, bytes.size() - 1)));
  EXPECT_TRUE(server->in_fields());
  EXPECT_TRUE(server->feed(std::string_view(bytes).substr(bytes.size() - 1)));
  EXPECT_FALSE(server->in_fields());
}

TEST_F(H2SessionTest, ARequestCanBeWithdrawnTwiceBeforeItIsSent) {
  request(false);
  exchange_bytes();
  EXPECT_EQ(request(true), 3);
  client->reset(3, kH2Cancel);
  client->reset(3, kH2Cancel);
  exchange_bytes();
  client->reset(3, kH2Cancel);
  exchange_bytes();
  EXPECT_EQ(at_client.take(3), (Events{"closed " + std::to_string(kH2Cancel)}));
  EXPECT_EQ(at_server.take(3), Events{});
  EXPECT_EQ(at_client.take(0), Events{});
  respond(1, false);
  exchange_bytes();
  EXPECT_EQ(at_client.take(1), (Events{"end sent", ":status=200 end", "closed 0"}));
}

TEST_F(H2SessionTest, AShutdownIsWarnedOfAndAnnounced) {
  request(true);
  exchange_bytes();
  server->warn_of_shutdown();
  server->ping();
  exchange_bytes();
  EXPECT_EQ(at_client.take(0), Events{"goaway 2147483647 0"});
  EXPECT_EQ(at_server.take(0), Events{"pong"});
  server->announce_shutdown();
  exchange_bytes();
  EXPECT_EQ(at_client.take(0), Events{"goaway 1 0"});
  EXPECT_FALSE(server->finished());
  at_server.take(1);
  respond(1, false);
  exchange_bytes();
  EXPECT_TRUE(server->finished());
}

}  // namespace
}  // namespace smg::http
