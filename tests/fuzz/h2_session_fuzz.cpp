#include <map>
#include <set>
#include <string>

#include "fuzz/fuzz_input.hpp"
#include <smg/http/h2_session.hpp>

namespace {

using namespace smg::http;
using namespace smg::fuzz;

constexpr H2Session::Settings kSettings{.max_concurrent_streams = 8,
                                        .initial_window = 1024,
                                        .connection_window = 65535,
                                        .max_header_list = 2048};

/// Of a breach of flow control and another fault in one frame, its pieces decide which is found
/// first.
constexpr std::uint32_t one_of_two_faults(std::uint32_t error_code) {
  constexpr std::uint32_t kFlowControlError = 3;
  return error_code == kFlowControlError ? kH2ProtocolError : error_code;
}

/// Records what a session tells of each stream, and checks the order in which it may.
class Recorder final : public H2SessionObserver {
 public:
  void on_fields(std::int32_t stream, H2FieldBlock&& block, bool end_stream) override {
    std::size_t size = 0;
    std::string text = "fields";
    for (std::size_t i = 0; i < block.entries.size(); ++i) {
      const Field field = block.field(i);
      require(lies_in(field.name, block.text) && lies_in(field.value, block.text),
              "a field lies in its block");
      size += field.name.size() + field.value.size() + 32;
      text.append(" ").append(field.name).append("=").append(field.value);
    }
    require(size <= kSettings.max_header_list, "a field list is not larger than allowed");
    note(stream, text + (end_stream ? " end" : ""));
  }
  void on_fields_too_large(std::int32_t stream, bool) override { note(stream, "too large"); }
  void on_data(std::int32_t stream, std::string_view bytes) override {
    require(!bytes.empty(), "data has bytes");
    require(!closed_.contains(stream), "a closed stream has no data");
    unread_[stream] += bytes.size();
    log_[stream].append(bytes);
  }
  void on_end_stream(std::int32_t stream) override { note(stream, "end"); }
  void on_end_sent(std::int32_t stream) override { note(stream, "sent"); }
  void on_stream_closed(std::int32_t stream, std::uint32_t error_code) override {
    note(stream, "closed " + std::to_string(one_of_two_faults(error_code)));
    closed_.insert(stream);
  }
  void on_goaway(std::int32_t last_stream, std::uint32_t error_code) override {
    told_to_go = true;
    note(0, "goaway " + std::to_string(last_stream) + " " + std::to_string(error_code));
  }
  void on_ping_ack() override { note(0, "pong"); }
  void on_settings() override { note(0, "settings"); }
  BodyPiece fill_body(std::int32_t stream, std::span<char> into) override {
    require(!closed_.contains(stream), "a closed stream is asked for no body");
    const auto size = std::min(into.size(), kBody.size());
    std::copy_n(kBody.data(), size, into.data());
    return {size, true};
  }

  /// Gives back the window of all that has arrived.
  void read_all(H2Session& session) {
    for (auto& [stream, bytes] : unread_) session.consume(stream, std::exchange(bytes, 0));
  }

  [[nodiscard]] std::vector<std::int32_t> open() const {
    std::vector<std::int32_t> streams;
    for (const auto& [stream, text] : log_) {
      if (stream != 0 && !closed_.contains(stream)) streams.push_back(stream);
    }
    return streams;
  }

  /// What follows a GOAWAY may be ignored, depending on when it is read.
  bool told_to_go = false;

  bool operator==(const Recorder& other) const { return log_ == other.log_; }

 private:
  static constexpr std::string_view kBody = "what is sent";

  void note(std::int32_t stream, const std::string& event) {
    require(!closed_.contains(stream), "a closed stream tells nothing");
    log_[stream].append("[").append(event).append("]");
  }

  std::map<std::int32_t, std::string> log_;
  std::map<std::int32_t, std::size_t> unread_;
  std::set<std::int32_t> closed_;
};

/// Shows each frame of `output`, its head included. False: these are not whole frames, as far as a
/// peer could tell.
template <class Visit>
bool each_frame(std::span<char> output, bool server, Visit visit) {
  constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  constexpr std::size_t kHead = 9;
  if (!server && std::string_view(output.data(), output.size()).starts_with(kPreface)) {
    output = output.subspan(kPreface.size());
  }
  while (!output.empty()) {
    if (output.size() < kHead) return false;
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(output[i]); };
    const std::size_t size = std::size_t{byte(0)} << 16 | std::size_t{byte(1)} << 8 | byte(2);
    if (output.size() < kHead + size) return false;
    visit(output.first(kHead + size));
    output = output.subspan(kHead + size);
  }
  return true;
}

bool is_framed(std::string& output, bool server) {
  return each_frame(output, server, [](std::span<char>) {});
}

std::string with_one_of_two_faults(std::string output, bool server) {
  constexpr char kResetStream = 3;
  each_frame(output, server, [](std::span<char> frame) {
    if (frame[3] != kResetStream) return;
    char& code = frame.back();
    code = static_cast<char>(one_of_two_faults(static_cast<unsigned char>(code)));
  });
  return output;
}

struct Run {
  Recorder recorder;
  std::string output;
  bool alive = true;
};

std::unique_ptr<H2Session> make(Run& run, bool server) {
  auto session = server ? H2Session::server(run.recorder, kSettings)
                        : H2Session::client(run.recorder, kSettings);
  if (server) return session;
  const Field fields[] = {
      {":method", "POST"}, {":scheme", "http"}, {":authority", "x"}, {":path", "/"}};
  for (const bool has_body : {false, true, false})
    require(session->submit_request(fields, has_body) > 0, "a request");
  session->take_output(run.output, std::string::npos);
  return session;
}

/// The peer's bytes in pieces; what is to be sent is taken only afterwards, so that the pieces
/// cannot show.
void listen(Run& run, std::string_view wire, std::size_t piece_size, bool server) {
  const auto session = make(run, server);
  in_pieces(wire, piece_size, [&](std::vector<char>& piece) {
    return run.alive = session->feed({piece.data(), piece.size()});
  });
  session->take_output(run.output, std::string::npos);
  require(is_framed(run.output, server), "what is sent are whole frames");
}

/// The same with everything that a connection does meanwhile; only the rules of the recorder have
/// to hold.
void talk(std::string_view wire, std::size_t piece_size, bool server) {
  Run run;
  const auto session = make(run, server);
  std::size_t turn = 0;
  in_pieces(wire, piece_size, [&](std::vector<char>& piece) {
    run.alive = session->feed({piece.data(), piece.size()});
    for (const auto stream : run.recorder.open()) {
      const Field status{":status", "200"};
      const Field interim{":status", "103"};
      switch (turn++ % 6) {
        case 0: session->submit_interim(stream, {&interim, 1}); break;
        case 1: session->submit_response(stream, {&status, 1}, true); break;
        case 2: session->resume_body(stream); break;
        case 3: session->widen_window(stream, 1024); break;
        case 4: session->ping(); break;
        default: session->reset(stream, kH2Cancel); break;
      }
    }
    run.recorder.read_all(*session);
    session->take_output(run.output, std::string::npos);
    return run.alive && !session->finished();
  });
  if (server) session->warn_of_shutdown();
  session->announce_shutdown();
  session->terminate(kH2NoError);
  session->take_output(run.output, std::string::npos);
  require(is_framed(run.output, server), "what is sent are whole frames");
  require(session->finished(), "an ended session is over");
}

}  // namespace

/// So many CONTINUATION frames that the limit to them may depend on the pieces.
bool may_continue_too_long(std::string_view wire) {
  constexpr char kContinuation = 9;
  return std::count(wire.begin(), wire.end(), kContinuation) >= 8;
}

/// The first byte: the role, whether the peer's greeting is made up for it, and the size of the
/// pieces.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  Input input(bytes, size);
  const auto choice = input.byte();
  const bool server = (choice & 1) != 0;
  const std::size_t piece = 1U + (choice >> 2);
  std::string wire;
  if ((choice & 2) != 0) {
    if (server) wire = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    wire.append("\0\0\0\4\0\0\0\0\0", 9);
  }
  wire += input.rest();
  Run pieces;
  Run whole;
  listen(pieces, wire, piece, server);
  listen(whole, wire, std::string::npos, server);
  const bool alike =
      pieces.recorder == whole.recorder && pieces.alive == whole.alive &&
      with_one_of_two_faults(pieces.output, server) == with_one_of_two_faults(whole.output, server);
  require(alike || whole.recorder.told_to_go || may_continue_too_long(wire),
          "pieces make no difference");
  talk(wire, piece, server);
  return 0;
}
