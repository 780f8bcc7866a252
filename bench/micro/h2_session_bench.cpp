#include "micro/allocations.hpp"
#include <smg/http/h2_session.hpp>

namespace smg::bench {
namespace {

using http::Field;
using http::H2Session;

constexpr std::size_t kTurnBytes = 64 * 1024;  // taken of a session's output at a time

/// One end of a connection. It sends the same body on every stream and counts what has ended.
class End final : public http::H2SessionObserver {
 public:
  explicit End(std::size_t body_bytes) : body_(body_bytes, 'x') {}

  void attach(H2Session& session) { session_ = &session; }
  [[nodiscard]] bool take_ended() { return std::exchange(ended_, false); }

  void on_fields(std::int32_t, http::H2FieldBlock&&, bool end_stream) override {
    ended_ = ended_ || end_stream;
  }
  void on_data(std::int32_t stream, std::string_view bytes) override {
    session_->consume(stream, bytes.size());
  }
  void on_end_stream(std::int32_t) override { ended_ = true; }
  void on_stream_closed(std::int32_t, std::uint32_t) override {}
  void on_goaway(std::int32_t, std::uint32_t) override {}
  void on_ping_ack() override {}
  void on_settings() override {}
  BodyPiece fill_body(std::int32_t, std::span<char> into) override {
    const auto size = std::min(into.size(), body_.size() - sent_);
    std::copy_n(body_.data() + sent_, size, into.data());
    sent_ += size;
    const bool last = sent_ == body_.size();
    if (last) sent_ = 0;
    return {size, last};
  }

 private:
  const std::string body_;
  std::size_t sent_ = 0;
  H2Session* session_ = nullptr;
  bool ended_ = false;
};

/// A client's session and a server's, with memory in place of the connection.
class Pair {
 public:
  Pair(std::size_t request_bytes, std::size_t response_bytes)
      : requests_(request_bytes), responses_(response_bytes) {
    requests_.attach(*client_);
    responses_.attach(*server_);
    deliver();
  }

  /// One request and its response, from end to end.
  [[nodiscard]] bool exchange() {
    const auto stream = client_->submit_request(kRequest, true);
    deliver();
    if (stream < 0 || !responses_.take_ended()) return false;
    server_->submit_response(stream, kResponse, true);
    deliver();
    return requests_.take_ended();
  }

 private:
  /// Carries bytes both ways until there are none.
  void deliver() {
    for (bool more = true; more;) {
      const bool sent = carry(*client_, *server_);
      const bool answered = carry(*server_, *client_);
      more = sent || answered;
    }
  }

  [[nodiscard]] bool carry(H2Session& from, H2Session& to) {
    wire_.clear();
    from.take_output(wire_, kTurnBytes);
    return !wire_.empty() && to.feed(wire_);
  }

  inline static const std::vector<Field> kRequest{
      {":method", "POST"},
      {":scheme", "http"},
      {":authority", "10.0.0.1:8000"},
      {":path", "/v1/chat/completions"},
      {"content-type", "application/json"},
      {"accept", "*/*"},
      {"x-request-id", "chatcmpl-0123456789abcdefghijklmn"},
      {"content-length", "1024"}};
  inline static const std::vector<Field> kResponse{
      {":status", "200"}, {"content-type", "application/json"}, {"server", "uvicorn"}};

  End requests_;
  End responses_;
  std::unique_ptr<H2Session> client_ = H2Session::client(requests_, {});
  std::unique_ptr<H2Session> server_ = H2Session::server(responses_, {});
  std::string wire_;
};

/// Both sides' work for one exchange, with a chat's answer or with so many bytes.
void h2_exchange(benchmark::State& state) {
  constexpr std::size_t kRequestBytes = 1024;
  const auto response_bytes = static_cast<std::size_t>(state.range());
  Pair pair(kRequestBytes, response_bytes);
  const CountAllocations count(state);
  for (auto _ : state) {
    if (!pair.exchange()) throw std::runtime_error("the exchange broke off");
  }
  report_bytes(state, kRequestBytes + response_bytes);
}
BENCHMARK(h2_exchange)->ArgName("answer")->Arg(600)->Arg(256 * 1024);

}  // namespace
}  // namespace smg::bench
