#pragma once

#include <memory>
#include <optional>

#include "http/chunk_queue.hpp"
#include "http/server_connection.hpp"
#include <smg/config/gateway_config.hpp>
#include <smg/http/chunked.hpp>
#include <smg/net/byte_stream.hpp>

namespace smg::http {

/// A connection that turned out to speak HTTP/2: `input` starts with the client's preface.
struct Http2Start {
  std::unique_ptr<net::ByteStream> stream;
  std::string input;
};

/// One HTTP/1 client connection: requests in order, one exchange at a time. It is the exchange
/// itself, so a kept-alive connection allocates next to nothing for a further request.
class H1ServerConnection final : public ServerConnection,
                                 public ClientExchange,
                                 private net::StreamObserver {
 public:
  H1ServerConnection(net::IoThread& thread, const config::Listen& settings,
                     std::unique_ptr<net::ByteStream> stream);
  ~H1ServerConnection() override;

  // ServerConnection
  net::Task<> serve(RequestHandler& handler) override;
  void drain() override;
  void abort() noexcept override;  // of the exchange too

  /// Behind `serve`: what an HTTP/2 connection goes on from, if that is what the client speaks.
  [[nodiscard]] std::optional<Http2Start> take_http2();

  // ClientExchange
  const RequestHead& head() const noexcept override { return head_; }
  net::IoThread& thread() noexcept override { return thread_; }
  net::Task<> arrival() override;
  std::optional<Result<std::size_t>> try_read_body(std::span<char> into) override;
  std::uint64_t spliceable_bytes() const noexcept override;
  net::Task<Result<std::size_t>> read_body_into(net::Pipe& pipe) override;
  std::uint64_t announced_bytes() const noexcept override {
    return head_.chunked ? chunks_.chunk_remaining() : body_left_;
  }
  bool body_ready() const noexcept override { return !body_ended_ && !input_.empty(); }
  bool body_ended() const noexcept override { return body_ended_; }
  void cancel_read() noexcept override;
  void write_head(const ClientResponse& response, BodyLength length) override;
  void flush() override;
  void write_body(std::string_view bytes, bool last) override;
  bool queue_full() const noexcept override { return queue_.full(); }
  bool behind() const noexcept override { return !queue_.empty(); }
  net::Task<bool> wait_for_room() override;
  bool drained() const noexcept override {
    return queue_.empty() && pending_head_.empty() && !gone_;
  }
  net::Task<bool> wait_until_drained() override;
  bool head_written() const noexcept override { return head_written_; }
  bool gone() const noexcept override { return gone_; }
  void on_gone(std::function<void()> callback) override { on_gone_ = std::move(callback); }
  std::uint64_t bytes_received() const noexcept override { return bytes_received_; }
  std::uint64_t bytes_sent() const noexcept override { return bytes_sent_; }

 private:
  enum class Phase : std::uint8_t { ReadingHead, InExchange, Delivering, Closing };
  enum class NextHead : std::uint8_t {
    Complete,
    Pending,
    Refused,  ///< the client has been told why there is no further one
    None,     ///< the connection has ended, or goes on as HTTP/2
  };

  // net::StreamObserver
  void on_readable() override;
  void on_writable() override;

  void recognise() noexcept;
  [[nodiscard]] NextHead try_read_head();
  [[nodiscard]] NextHead fill_input();
  [[nodiscard]] bool take_head(std::size_t end);
  void begin_exchange();
  [[nodiscard]] bool is_finished() const noexcept;
  [[nodiscard]] net::Task<bool> finish_exchange();
  [[nodiscard]] net::Task<bool> deliver();
  [[nodiscard]] net::Task<> close_in_stages();
  void refuse(const GatewayError& error);
  void watch_client();
  void client_left() noexcept;

  [[nodiscard]] Result<std::size_t> take_buffered_body(std::span<char> into);
  [[nodiscard]] Result<std::size_t> accept_body(std::span<char> piece);
  void account(std::size_t bytes);
  void send_continue();

  void write_pieces(std::span<const iovec> pieces);
  void enqueue(std::span<const iovec> pieces, std::size_t already_sent);
  void send_queue();

  net::IoThread& thread_;
  const config::Listen& settings_;
  std::unique_ptr<net::ByteStream> stream_;
  net::Gate read_gate_;
  net::Gate write_gate_;
  net::Deadline timeout_;
  std::function<void()> on_gone_;

  Phase phase_ = Phase::ReadingHead;
  bool speaks_http1_ = false;  ///< of the two at most one, once enough bytes tell which
  bool speaks_http2_ = false;
  bool draining_ = false;
  bool gone_ = false;
  bool timed_out_ = false;
  int reads_in_turn_ = 0;     ///< since the loop was last waited for
  bool timing_head_ = false;  ///< the timeout runs for a head, not for idleness
  bool head_begun_ = false;   ///< some byte of the next head has arrived
  bool read_cancelled_ = false;

  // Bytes from the client that no exchange has taken yet: a growing head, or pipelined requests.
  std::string input_;
  std::size_t searched_ = 0;  ///< bytes of it that hold no end of a head
  RequestHead head_;

  ChunkDecoder chunks_;
  std::uint64_t body_left_ = 0;
  bool body_ended_ = true;
  bool continue_due_ = false;

  // The response: what the next write starts with, and what the kernel has not taken yet.
  std::string pending_head_;
  ChunkQueue queue_;
  BodyLength response_length_;
  bool head_written_ = false;
  bool response_complete_ = false;
  bool bodiless_ = false;
  bool closes_ = false;

  std::uint64_t bytes_received_ = 0;
  std::uint64_t bytes_sent_ = 0;
};

}  // namespace smg::http
