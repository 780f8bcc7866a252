#pragma once

#include <map>

#include "support/raw_socket.hpp"
#include <smg/http/h2_session.hpp>

namespace smg::http {

/// What came back on one stream.
struct H2Answer {
  std::vector<int> interim;
  int status = 0;
  std::map<std::string, std::string> fields;
  std::string body;
  std::size_t pieces = 0;  ///< DATA frames with bytes
  bool ended_by_head = false;
  bool complete = false;
  bool closed = false;
  std::uint32_t error = 0;
};

/// A blocking HTTP/2 client, driven by the test's own thread.
class H2Client final : public H2SessionObserver {
 public:
  explicit H2Client(test::RawSocket socket, const H2Session::Settings& settings = {})
      : socket_(std::move(socket)), session_(H2Session::client(*this, settings)) {
    flush();
  }

  /// Opens a stream. `body`: also sends it, and with `end` the end of the stream.
  std::int32_t open(std::string_view method, std::string_view path,
                    std::vector<Field> further = {}) {
    return start(method, path, std::move(further), false);
  }
  std::int32_t open_with_body(std::string_view path, std::string body, bool end = true,
                              std::vector<Field> further = {}) {
    const auto stream = start("POST", path, std::move(further), true);
    send_body(stream, std::move(body), end);
    return stream;
  }
  void send_body(std::int32_t stream, std::string body, bool end) {
    uploads_[stream].bytes += body;
    uploads_[stream].end = end;
    session_->resume_body(stream);
    flush();
  }

  void reset(std::int32_t stream, std::uint32_t error = kH2Cancel) {
    session_->reset(stream, error);
    flush();
  }

  /// Takes what arrives until `done` holds. False: the connection ended before that.
  template <class Condition>
  [[nodiscard]] bool until(Condition done) {
    while (!done()) {
      if (ended || !take_some()) return false;
    }
    return true;
  }

  /// The whole of what the stream comes to.
  H2Answer& answer(std::int32_t stream) {
    if (!until([&] { return answers[stream].closed; })) answers[stream].closed = true;
    return answers[stream];
  }

  /// Lets the server send as much as the test has received so far.
  void read(std::int32_t stream) {
    session_->consume(stream, std::exchange(unread_[stream], 0));
    flush();
  }

  void ping() {
    session_->ping();
    flush();
  }

  [[nodiscard]] std::size_t unsent(std::int32_t stream) { return uploads_[stream].left().size(); }
  [[nodiscard]] test::RawSocket& socket() noexcept { return socket_; }

  std::map<std::int32_t, H2Answer> answers;
  std::vector<std::pair<std::int32_t, std::uint32_t>> goaways;  ///< last stream, error code
  int pings_answered = 0;
  bool greeted = false;  ///< the server's settings are there
  bool ended = false;
  bool reads_at_once = true;

 private:
  struct Upload {
    std::string bytes;
    std::size_t sent = 0;
    bool end = false;

    [[nodiscard]] std::string_view left() const { return std::string_view(bytes).substr(sent); }
  };

  std::int32_t start(std::string_view method, std::string_view path, std::vector<Field> further,
                     bool has_body) {
    std::vector<Field> fields{
        {":method", method}, {":scheme", "http"}, {":authority", "x.test"}, {":path", path}};
    fields.insert(fields.end(), further.begin(), further.end());
    const auto stream = session_->submit_request(fields, has_body);
    flush();
    return stream;
  }

  bool take_some() {
    const std::string bytes = socket_.receive();
    ended = bytes.empty() || !session_->feed(bytes);
    if (!bytes.empty()) flush();
    return !ended;
  }

  void flush() {
    for (;;) {
      std::string out;
      session_->take_output(out, 64 * 1024);
      if (out.empty() || !socket_.send(out)) return;
    }
  }

  void on_fields(std::int32_t stream, H2FieldBlock&& block, bool end_stream) override {
    H2Answer& answer = answers[stream];
    int status = 0;
    for (std::size_t i = 0; i < block.entries.size(); ++i) {
      const auto [name, value] = block.field(i);
      if (name == ":status") status = std::stoi(std::string(value));
      if (status >= 200) answer.fields[std::string(name)] = value;
    }
    if (status < 200) {
      answer.interim.push_back(status);
    } else {
      answer.status = status;
      answer.ended_by_head = answer.complete = end_stream;
    }
  }
  void on_data(std::int32_t stream, std::string_view bytes) override {
    answers[stream].body += bytes;
    ++answers[stream].pieces;
    unread_[stream] += bytes.size();
    if (reads_at_once) session_->consume(stream, std::exchange(unread_[stream], 0));
  }
  void on_end_stream(std::int32_t stream) override { answers[stream].complete = true; }
  void on_stream_closed(std::int32_t stream, std::uint32_t error_code) override {
    answers[stream].closed = true;
    answers[stream].error = error_code;
  }
  void on_goaway(std::int32_t last_stream, std::uint32_t error_code) override {
    goaways.emplace_back(last_stream, error_code);
  }
  void on_ping_ack() override { ++pings_answered; }
  void on_settings() override { greeted = true; }
  BodyPiece fill_body(std::int32_t stream, std::span<char> into) override {
    Upload& upload = uploads_[stream];
    const auto size = upload.left().copy(into.data(), into.size());
    upload.sent += size;
    return {size, upload.end && upload.left().empty()};
  }

  test::RawSocket socket_;
  std::unique_ptr<H2Session> session_;
  std::map<std::int32_t, Upload> uploads_;
  std::map<std::int32_t, std::size_t> unread_;
};

}  // namespace smg::http
