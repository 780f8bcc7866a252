#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <smg/http/h2_field_block.hpp>

struct nghttp2_session;

namespace smg::http {

/// What an HTTP/2 session tells its connection, from within `H2Session::feed` or `take_output`. The
/// calls record; they never resume a coroutine and never touch the session again, except for
/// `reset`.
class H2SessionObserver {
 public:
  /// The field block of a request or response, informational ones included, or of trailers.
  virtual void on_fields(std::int32_t stream, H2FieldBlock&& block, bool end_stream) = 0;
  /// In place of `on_fields`, to servers: a block beyond `max_header_list`, which is not kept. To
  /// clients the stream is reset instead.
  virtual void on_fields_too_large(std::int32_t /*stream*/, bool /*end_stream*/) {}
  /// Body bytes, never none. They count against the stream's window until `consume`.
  virtual void on_data(std::int32_t stream, std::string_view bytes) = 0;
  virtual void on_end_stream(std::int32_t stream) = 0;
  /// Our side of the stream has been sent to its end.
  virtual void on_end_sent(std::int32_t /*stream*/) {}
  /// The stream is over; 0 (NO_ERROR) after a clean end. The last call for a stream.
  virtual void on_stream_closed(std::int32_t stream, std::uint32_t error_code) = 0;
  /// The peer takes no streams above `last_stream`.
  virtual void on_goaway(std::int32_t last_stream, std::uint32_t error_code) = 0;
  virtual void on_ping_ack() = 0;
  virtual void on_settings() = 0;

  /// Body bytes to send on the stream now. `last`: they end the body. Neither bytes nor `last`:
  /// none are there; `resume_body` asks again.
  struct BodyPiece {
    std::size_t size = 0;
    bool last = false;
  };
  [[nodiscard]] virtual BodyPiece fill_body(std::int32_t stream, std::span<char> into) = 0;

 protected:
  ~H2SessionObserver() = default;
};

/// The HTTP/2 protocol on one connection (RFC 9113), of either side, without its socket: bytes in,
/// bytes out. nghttp2 behind RAII. Connection-level windows are credited on receipt, so that no
/// stalled stream can starve the others; stream windows when the body is consumed.
class H2Session {
 public:
  struct Settings {
    std::uint32_t max_concurrent_streams = 200;     ///< that the peer may open (servers)
    std::uint32_t initial_window = 1024 * 1024;     ///< bytes in flight of one stream
    std::uint32_t connection_window = 1024 * 1024;  ///< bytes in flight of all streams
    std::uint32_t max_header_list = 256 * 1024;     ///< bytes of a field block
    std::uint32_t max_resets = 1000;                ///< of the peer in a burst (servers)
    std::uint32_t max_resets_per_second = 100;      ///< and in the long run (servers)
  };

  [[nodiscard]] static std::unique_ptr<H2Session> client(H2SessionObserver& observer,
                                                         const Settings& settings);
  [[nodiscard]] static std::unique_ptr<H2Session> server(H2SessionObserver& observer,
                                                         const Settings& settings);
  ~H2Session();
  H2Session(const H2Session&) = delete;
  H2Session& operator=(const H2Session&) = delete;

  /// Takes bytes of the peer. False: the connection is beyond help; what is still to be sent says
  /// why.
  [[nodiscard]] bool feed(std::string_view bytes);

  /// Appends frames to `out` until it holds `limit` bytes or nothing is left to send.
  void take_output(std::string& out, std::size_t limit);

  /// Nothing more will be read or written: the connection can be closed.
  [[nodiscard]] bool finished() const noexcept;

  /// Opens a stream with a request; `fields` with pseudo-fields first, names in lower case. -1: no
  /// further stream can be opened on this connection.
  [[nodiscard]] std::int32_t submit_request(std::span<const Field> fields, bool has_body);
  /// Sends a response head (or, with a 1xx status, an interim one).
  void submit_response(std::int32_t stream, std::span<const Field> fields, bool has_body);
  void submit_interim(std::int32_t stream, std::span<const Field> fields);

  void resume_body(std::int32_t stream);
  /// The body's reader has taken `bytes`: the peer may send as many more.
  void consume(std::int32_t stream, std::size_t bytes);
  /// Lets a stream have more bytes in flight.
  void widen_window(std::int32_t stream, std::uint32_t bytes);
  void reset(std::int32_t stream, std::uint32_t error_code);
  void ping();
  /// Says that `announce_shutdown` is to follow; streams are still taken (servers, RFC 9113 6.8).
  void warn_of_shutdown();
  /// Announces that no new streams are taken; running ones go on.
  void announce_shutdown();
  /// Ends the connection behind what is queued.
  void terminate(std::uint32_t error_code);

  /// Streams of ours that the peer allows at a time.
  [[nodiscard]] std::uint32_t peer_max_streams() const noexcept;
  /// A field block has begun and not ended: nothing else can arrive until it does.
  [[nodiscard]] bool in_fields() const noexcept { return !open_blocks_.empty(); }
  /// Frames that wait to be taken, DATA aside.
  [[nodiscard]] std::size_t queued_frames() const noexcept;

 private:
  H2Session(H2SessionObserver& observer, const Settings& settings, bool server);
  struct Callbacks;

  struct OpenBlock {
    std::int32_t stream;
    H2FieldBlock block;
    std::size_t size = 0;  // of the field list, as RFC 9113 10.5.1 counts it
  };

  void submit_settings(const Settings& settings);
  [[nodiscard]] bool add_field(std::int32_t stream, std::string_view name, std::string_view value);
  void finish_block(std::int32_t stream, bool end_stream);

  H2SessionObserver& observer_;
  nghttp2_session* session_ = nullptr;
  std::vector<OpenBlock> open_blocks_;
  std::int32_t last_sent_ = 0;           // the stream of the last head that was sent
  std::vector<std::int32_t> withdrawn_;  // requests that were reset before they were sent
  const std::uint32_t max_header_list_;
  const bool server_;
};

inline constexpr std::uint32_t kH2NoError = 0;
inline constexpr std::uint32_t kH2ProtocolError = 1;
inline constexpr std::uint32_t kH2InternalError = 2;
inline constexpr std::uint32_t kH2RefusedStream = 7;
inline constexpr std::uint32_t kH2Cancel = 8;
inline constexpr std::uint32_t kH2EnhanceYourCalm = 11;

}  // namespace smg::http
