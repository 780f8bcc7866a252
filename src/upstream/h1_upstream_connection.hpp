#pragma once

#include <smg/http/chunked.hpp>
#include <smg/net/byte_stream.hpp>
#include <smg/net/io_thread.hpp>
#include <smg/upstream/host_pool.hpp>

namespace smg::upstream {

/// One HTTP/1.1 connection to a worker. It is the exchange that runs on it, and watches itself
/// while it is idle: a worker that closes it, or says something unasked, ends it there.
class H1UpstreamConnection final : public UpstreamExchange, private net::StreamObserver {
 public:
  H1UpstreamConnection(std::shared_ptr<HostPool> pool, net::IoThread& thread,
                       std::unique_ptr<net::ByteStream> stream);
  ~H1UpstreamConnection() override;

  void begin();
  void become_idle(config::Seconds idle_timeout);
  /// Nothing has arrived since the last response: what has, or an end, spoils the connection, and
  /// would be taken for the next answer. May eat a byte of a connection that is not.
  [[nodiscard]] bool is_quiet() noexcept;
  [[nodiscard]] int release_descriptor() noexcept { return stream_->release(); }
  [[nodiscard]] net::IoThread& thread() noexcept { return thread_; }

  // UpstreamExchange
  void write_head(const UpstreamRequest& request) override;
  void flush() override;
  bool send(std::span<const std::string_view> pieces, bool last) override;
  void keep_unsent() override;
  bool takes_pipe() const noexcept override {
    return chunked_request_ && unsent_.empty() && stream_->can_splice();
  }
  bool send_from(net::Pipe& pipe, std::size_t bytes, bool last) override;
  net::Task<Result<>> flushed() override;
  std::optional<Result<const http::ResponseHead*>> try_read_head() override;
  std::optional<Result<std::size_t>> try_read_body(std::span<char> into) override;
  net::Task<> arrival() override;
  bool body_ready() const noexcept override { return !input_.empty() && !body_ended_; }
  bool body_ended() const noexcept override { return body_ended_; }
  bool response_begun() const noexcept override { return response_begun_; }
  void abort(GatewayError why) noexcept override;
  void release() noexcept override;

 private:
  // net::StreamObserver
  void on_readable() override;
  void on_writable() override;

  void queue_size_line(std::size_t bytes);
  [[nodiscard]] bool send_pending();
  [[nodiscard]] bool send_unsent();
  [[nodiscard]] bool send_spliced();
  [[nodiscard]] Result<bool> read_more_of_head();
  [[nodiscard]] Result<bool> take_head();
  void begin_body();
  [[nodiscard]] Result<std::size_t> accept_body(std::span<char> piece);
  [[nodiscard]] bool reusable() const noexcept;

  std::shared_ptr<HostPool> pool_;
  net::IoThread& thread_;
  std::unique_ptr<net::ByteStream> stream_;
  net::Gate read_gate_;
  net::Gate write_gate_;
  net::Deadline idle_;
  bool is_idle_ = false;
  net::TimePoint looked_before_{};  ///< the poller's last look when it became idle

  // Sending: what the kernel has not taken yet, framing included. Entries point into `head_out_`,
  // `size_line_`, `kept_` or the sender's memory.
  std::string head_out_;
  std::string kept_;
  char size_line_[24];
  std::vector<iovec> unsent_;
  std::size_t first_unsent_ = 0;
  net::Pipe* pipe_ = nullptr;  ///< where what comes behind `unsent_` is
  std::size_t spliced_left_ = 0;
  std::string_view behind_spliced_;
  bool chunked_request_ = false;
  bool request_ended_ = false;
  bool write_failed_ = false;

  // Receiving.
  std::string input_;
  std::size_t searched_ = 0;  ///< bytes of it that hold no end of a head
  http::ResponseHead head_;
  http::ChunkDecoder chunks_;
  net::EventPace pace_;
  std::uint64_t body_left_ = 0;
  bool head_request_ = false;
  bool response_begun_ = false;
  bool body_ended_ = false;
  int reads_in_turn_ = 0;  ///< since the loop was last waited for
  bool surplus_ = false;

  std::optional<GatewayError> aborted_;
};

}  // namespace smg::upstream
