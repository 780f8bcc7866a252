#pragma once

#include <unordered_map>

#include "upstream/h2_hub.hpp"
#include <smg/http/h2_session.hpp>
#include <smg/net/byte_stream.hpp>

namespace smg::upstream {

/// One HTTP/2 connection to a worker, on its hub's home thread.
class H2UpstreamConnection final : private net::StreamObserver, private http::H2SessionObserver {
 public:
  H2UpstreamConnection(H2Hub& hub, std::unique_ptr<net::ByteStream> stream);
  ~H2UpstreamConnection();

  /// Whether it takes another stream now.
  [[nodiscard]] bool has_room() const noexcept;
  /// It takes no further stream, but only because of the worker's limit. Not so one that may carry
  /// none at all for the moment: another connection would hear the same.
  [[nodiscard]] bool is_full() const noexcept {
    return !draining_ && settings_seen_ && !streams_.empty() && !has_room();
  }

  [[nodiscard]] bool is_draining() const noexcept { return draining_; }

  void start(const H2LinkPtr& link);
  void body_added(const H2LinkPtr& link);
  void consumed(const H2LinkPtr& link, std::uint64_t bytes);
  void cancel(const H2LinkPtr& link);
  /// Takes no further streams, and ends behind those that run.
  void drain();

 private:
  // net::StreamObserver
  void on_readable() override;
  void on_writable() override;

  // http::H2SessionObserver
  void on_fields(std::int32_t stream, http::H2FieldBlock&& block, bool end_stream) override;
  void on_data(std::int32_t stream, std::string_view bytes) override;
  void on_end_stream(std::int32_t stream) override;
  void on_stream_closed(std::int32_t stream, std::uint32_t error_code) override;
  void on_goaway(std::int32_t last_stream, std::uint32_t error_code) override;
  void on_ping_ack() override;
  void on_settings() override;
  BodyPiece fill_body(std::int32_t stream, std::span<char> into) override;

  void pump();
  void deliver();
  void emit(const H2LinkPtr& link, H2StreamEvent::Kind kind);
  void emit_failure(const H2LinkPtr& link, GatewayError error);
  void after_activity();
  void fail_all(const std::string& why, ErrorCode code = ErrorCode::UpstreamConnect);
  void ping_due();
  /// To be called after every change of `streams_`.
  void show_use() noexcept;
  [[nodiscard]] H2LinkPtr find(std::int32_t stream) const;

  H2Hub& hub_;
  std::unique_ptr<net::ByteStream> stream_;
  std::unique_ptr<http::H2Session> session_;
  std::unordered_map<std::int32_t, H2LinkPtr> streams_;
  std::vector<H2StreamEvent> events_;  ///< for the exchanges, gathered until the session is left
  std::string out_;
  std::size_t out_offset_ = 0;
  net::Deadline ping_;
  net::Deadline idle_;
  bool ping_pending_ = false;
  bool settings_seen_ = false;
  bool draining_ = false;
  bool dead_ = false;
  bool shown_in_use_ = false;
};

}  // namespace smg::upstream
