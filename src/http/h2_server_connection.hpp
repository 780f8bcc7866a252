#pragma once

#include <unordered_map>

#include "http/h2_client_exchange.hpp"
#include "http/server_connection.hpp"
#include <smg/config/gateway_config.hpp>
#include <smg/net/byte_stream.hpp>

namespace smg::http {

/// One HTTP/2 client connection: up to 200 exchanges at a time, each handled by a coroutine of its
/// own. The connection itself holds one output buffer of 64 KiB and no input.
class H2ServerConnection final : public ServerConnection,
                                 private H2Carrier,
                                 private H2SessionObserver,
                                 private net::StreamObserver {
 public:
  /// `received`: the bytes of the client so far, which start with its preface.
  H2ServerConnection(net::IoThread& thread, const config::Listen& settings,
                     std::unique_ptr<net::ByteStream> stream, std::string received);
  ~H2ServerConnection() override;

  // ServerConnection
  net::Task<> serve(RequestHandler& handler) override;
  void drain() override;
  void abort() noexcept override;

 private:
  /// What the connection waits for at most so long: nothing, the rest of a head, a request, the
  /// end.
  enum class Clock : std::uint8_t { None, Head, Idle, Ending };

  // H2Carrier
  H2Session& session() noexcept override { return *session_; }
  void push_output() override;
  void reset(std::int32_t stream, std::uint32_t error_code) override;
  void forget(std::int32_t stream) noexcept override { exchanges_.erase(stream); }

  // H2SessionObserver
  void on_fields(std::int32_t stream, H2FieldBlock&& block, bool end_stream) override;
  void on_fields_too_large(std::int32_t stream, bool end_stream) override;
  void on_data(std::int32_t stream, std::string_view bytes) override;
  void on_end_stream(std::int32_t stream) override;
  void on_end_sent(std::int32_t stream) override;
  void on_stream_closed(std::int32_t stream, std::uint32_t error_code) override;
  void on_goaway(std::int32_t, std::uint32_t) override {}
  void on_ping_ack() override { ping_answered_ = true; }
  void on_settings() override { greeted_ = true; }
  BodyPiece fill_body(std::int32_t stream, std::span<char> into) override;

  // net::StreamObserver
  void on_readable() override;
  void on_writable() override { wake_.open_and_resume(); }

  struct Arrival {
    std::unique_ptr<H2ClientExchange> exchange;
    bool too_large;
  };

  [[nodiscard]] H2ClientExchange* find(std::int32_t stream) noexcept;
  H2ClientExchange* add_exchange(std::int32_t stream, bool end_stream, bool too_large);
  [[nodiscard]] bool feed(std::string_view bytes);
  void start_arrived();
  [[nodiscard]] net::Task<> run(Arrival arrival);
  void notify_gone();
  void go_away();
  void send_output();
  [[nodiscard]] bool over() const noexcept;
  void set_clock();
  void time_out();
  void cut_streams();
  [[nodiscard]] bool resets_too_fast();
  [[nodiscard]] net::Task<> linger();

  net::IoThread& thread_;
  const config::Listen& settings_;
  std::unique_ptr<net::ByteStream> stream_;
  std::unique_ptr<H2Session> session_;
  RequestHandler* handler_ = nullptr;
  std::string received_;
  std::string out_;  // frames that the kernel has not taken yet
  net::Gate wake_;   // of the connection's own coroutine, the one that writes
  net::Deadline timeout_;
  Clock clock_ = Clock::None;

  std::unordered_map<std::int32_t, H2ClientExchange*> exchanges_;
  // Recorded by the session's callbacks, for right after them.
  std::vector<Arrival> arrived_;
  std::vector<std::int32_t> left_;
  net::TaskGroup tasks_;

  bool greeted_ = false;  // the client's SETTINGS are there
  bool draining_ = false;
  bool warned_ = false;  // the client knows that a GOAWAY is coming
  bool went_away_ = false;
  bool ping_answered_ = false;
  bool failed_ = false;  // the client broke the protocol or a limit: what is queued is tried once
  bool lost_ = false;    // nothing can be sent any more
  bool ending_ = false;
  bool unread_ = false;  // the client may still be sending what nobody reads

  std::uint32_t resets_left_;
  net::TimePoint resets_counted_;
};

}  // namespace smg::http
