#include <map>
#include <string>

#include "fuzz/fuzz_input.hpp"
#include <smg/http/h2_session.hpp>

namespace {

using namespace smg::http;
using namespace smg::fuzz;

/// One direction of a stream: what was given to one side and what the other has had of it.
struct Way {
  std::string value;  ///< of a field
  std::string body;
  std::size_t sent = 0;
  bool complete = false;  ///< no more is given
  bool fields_arrived = false;
  std::string arrived;
  bool ended = false;
};

struct Exchange {
  Way request;
  Way response;
  bool answered = false;
  bool cut = false;  ///< reset by somebody
};

using Exchanges = std::map<std::int32_t, Exchange>;

/// One end of the connection.
class End final : public H2SessionObserver {
 public:
  End(Exchanges& exchanges, bool server) : exchanges_(exchanges), server_(server) {}

  void on_fields(std::int32_t stream, H2FieldBlock&& block, bool end_stream) override {
    Way& way = incoming(stream);
    require(!way.fields_arrived, "a head arrives once");
    way.fields_arrived = true;
    std::string value;
    for (std::size_t i = 0; i < block.entries.size(); ++i) {
      if (block.field(i).name == "x-value") value = block.field(i).value;
    }
    require(value == way.value, "a field arrives as it was sent");
    way.ended = end_stream;
  }
  void on_data(std::int32_t stream, std::string_view bytes) override {
    incoming(stream).arrived += bytes;
    unread[stream] += bytes.size();
  }
  void on_end_stream(std::int32_t stream) override {
    require(!std::exchange(incoming(stream).ended, true), "a stream ends once");
  }
  void on_stream_closed(std::int32_t stream, std::uint32_t error_code) override {
    Exchange& exchange = exchanges_[stream];
    // Before it knows how many streams are allowed, a client may open more.
    exchange.cut = exchange.cut || error_code == kH2RefusedStream;
    require(error_code == kH2NoError || exchange.cut, "a stream fails only if somebody resets it");
    if (exchange.cut) return;
    const Way& sent = outgoing(stream);
    require(incoming(stream).ended && sent.complete && sent.sent == sent.body.size(),
            "a closed stream is whole");
  }
  void on_goaway(std::int32_t, std::uint32_t error_code) override {
    require(error_code == kH2NoError, "a session of ours finds no fault with one of ours");
  }
  void on_ping_ack() override {}
  void on_settings() override {}
  BodyPiece fill_body(std::int32_t stream, std::span<char> into) override {
    Way& way = outgoing(stream);
    const auto left = std::string_view(way.body).substr(way.sent);
    const auto size = std::min(into.size(), left.size());
    std::copy_n(left.data(), size, into.data());
    way.sent += size;
    return {size, way.complete && way.sent == way.body.size()};
  }

  std::map<std::int32_t, std::size_t> unread;

 private:
  Way& incoming(std::int32_t stream) {
    return server_ ? exchanges_[stream].request : exchanges_[stream].response;
  }
  Way& outgoing(std::int32_t stream) {
    return server_ ? exchanges_[stream].response : exchanges_[stream].request;
  }

  Exchanges& exchanges_;
  const bool server_;
};

/// A client and a server of ours, and the script of what their owners do.
class Pair {
 public:
  explicit Pair(Input& input) : input_(input) {
    H2Session::Settings settings;
    settings.max_concurrent_streams = 1U + input.byte();
    settings.initial_window = 1U + input.byte() * 16U;
    client_ = H2Session::client(client_end_, settings);
    server_ = H2Session::server(server_end_, settings);
  }

  void run() {
    while (!input_.empty()) step();
    for (auto& [stream, exchange] : exchanges_) {
      exchange.request.complete = exchange.response.complete = true;
      client_->resume_body(stream);
      server_->resume_body(stream);
    }
    settle();
    for (auto& [stream, exchange] : exchanges_) answer(stream, false);
    settle();
    for (const auto& [stream, exchange] : exchanges_) check(exchange);
  }

 private:
  void step() {
    const auto choice = input_.byte();
    const auto stream = static_cast<std::int32_t>(1 + 2 * (choice >> 4));
    switch (choice & 15) {
      case 0: request(true); break;
      case 1: request(false); break;
      case 2: answer(stream, true); break;
      case 3: answer(stream, false); break;
      case 4: more(stream, *client_, true); break;
      case 5: more(stream, *server_, false); break;
      case 6: cut(stream, *client_); break;
      case 7: cut(stream, *server_); break;
      case 8: client_->ping(); break;
      case 9: read(*client_, client_end_); break;
      case 10: read(*server_, server_end_); break;
      case 11: carry(*client_, *server_); break;
      case 12: carry(*server_, *client_); break;
      case 13: client_->widen_window(stream, 100000); break;
      case 14: server_->ping(); break;
      default: settle(); break;
    }
  }

  std::string printable() {
    std::string text(input_.text(input_.byte()));
    for (char& c : text) c = static_cast<char>('a' + static_cast<unsigned char>(c) % 26);
    return text;
  }

  void request(bool has_body) {
    Way way;
    way.value = printable();
    way.complete = !has_body;
    const Field fields[] = {{":method", "POST"},
                            {":scheme", "http"},
                            {":authority", "x"},
                            {":path", "/"},
                            {"x-value", way.value}};
    const auto stream = client_->submit_request(fields, has_body);
    if (stream > 0) exchanges_[stream].request = way;
  }

  void answer(std::int32_t stream, bool has_body) {
    const auto found = exchanges_.find(stream);
    if (found == exchanges_.end()) return;
    Exchange& exchange = found->second;
    if (!exchange.request.fields_arrived || exchange.answered || exchange.cut) return;
    exchange.answered = true;
    exchange.response.value = printable();
    exchange.response.complete = !has_body;
    const Field fields[] = {{":status", "200"}, {"x-value", exchange.response.value}};
    server_->submit_response(stream, fields, has_body);
  }

  void more(std::int32_t stream, H2Session& session, bool of_request) {
    const auto found = exchanges_.find(stream);
    if (found == exchanges_.end()) return;
    Way& way = of_request ? found->second.request : found->second.response;
    if (way.complete || (!of_request && !found->second.answered)) return;
    const auto text = input_.text(1U + input_.byte());
    for (unsigned times = 1U + (input_.byte() & 15U); times > 0; --times) way.body += text;
    way.complete = (input_.byte() & 1) != 0;
    session.resume_body(stream);
  }

  void cut(std::int32_t stream, H2Session& session) {
    const auto found = exchanges_.find(stream);
    if (found == exchanges_.end()) return;
    if (&session == server_.get() && !found->second.request.fields_arrived) return;
    found->second.cut = true;
    session.reset(stream, kH2Cancel);
  }

  static void read(H2Session& session, End& end) {
    for (auto& [stream, bytes] : end.unread) session.consume(stream, std::exchange(bytes, 0));
  }

  /// Whether there were any bytes to carry.
  bool carry(H2Session& from, H2Session& to) {
    std::string bytes;
    from.take_output(bytes, 1U + input_.byte() * 64U);
    in_pieces(bytes, 1U + input_.byte(), [&](std::vector<char>& piece) {
      require(to.feed({piece.data(), piece.size()}),
              "a session of ours takes what one of ours sends");
      return true;
    });
    return !bytes.empty();
  }

  void settle() {
    for (bool moved = true; moved;) {
      moved = carry(*client_, *server_);
      moved = carry(*server_, *client_) || moved;
      read(*client_, client_end_);
      read(*server_, server_end_);
    }
  }

  static void check(const Exchange& exchange) {
    for (const Way* way : {&exchange.request, &exchange.response}) {
      require(way->body.starts_with(way->arrived), "a body arrives as it was sent");
    }
    if (exchange.cut || !exchange.answered) return;
    require(exchange.request.ended && exchange.request.arrived == exchange.request.body,
            "a request arrives whole");
    require(exchange.response.ended && exchange.response.arrived == exchange.response.body,
            "a response arrives whole");
  }

  Input& input_;
  Exchanges exchanges_;
  End client_end_{exchanges_, false};
  End server_end_{exchanges_, true};
  std::unique_ptr<H2Session> client_;
  std::unique_ptr<H2Session> server_;
};

}  // namespace

/// The input is a script for both owners of a connection; see Pair::step.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  Input input(bytes, size);
  Pair(input).run();
  return 0;
}
