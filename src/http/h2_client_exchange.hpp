#pragma once

#include "http/chunk_queue.hpp"
#include <smg/http/h2_session.hpp>

namespace smg::http {

/// What an exchange needs of the connection that carries its stream.
class H2Carrier {
 public:
  [[nodiscard]] virtual H2Session& session() noexcept = 0;

  /// Moves queued frames to the connection's output buffer as far as it has room. They reach the
  /// kernel in the loop's next turn, in one write with those of other streams.
  virtual void push_output() = 0;

  /// Ends the stream as an error, or, with NO_ERROR, behind its response.
  virtual void reset(std::int32_t stream, std::uint32_t error_code) = 0;

  /// The exchange goes.
  virtual void forget(std::int32_t stream) noexcept = 0;

 protected:
  ~H2Carrier() = default;
};

/// One stream of an HTTP/2 client connection. What it holds at most: a request head (16 KiB),
/// unread request bytes (the stream's window, 1 MiB), and the queue of the response (256 KiB and
/// what came on top).
class H2ClientExchange final : public ClientExchange {
 public:
  /// `ended`: the head is the whole request.
  H2ClientExchange(H2Carrier& carrier, net::IoThread& thread, std::int32_t stream, bool ended);
  ~H2ClientExchange() override;

  /// Takes the request's fields. False: they contradict each other.
  [[nodiscard]] bool take_head(H2FieldBlock&& block);

  /// Delivers what is left of the response and ends the stream: behind a bounded rest of the upload
  /// if the response is whole; as an error if the handler left it incomplete, or if the client
  /// takes nothing for as long as `patience`.
  [[nodiscard]] net::Task<> finish(net::Duration patience);

  /// Calls the `on_gone` callback if the client is gone. Directly below the event loop.
  void notify_if_gone();

  /// The client has nothing more to send.
  [[nodiscard]] bool request_whole() const noexcept { return request_ended_; }

  // What the session tells about the stream, from within its callbacks.
  void body_arrived(std::string_view bytes);
  void request_ended();
  [[nodiscard]] H2SessionObserver::BodyPiece fill_body(std::span<char> into);
  void response_end_sent();
  /// The stream is over, or its connection is.
  void stream_closed() noexcept;

  // ClientExchange
  const RequestHead& head() const noexcept override { return head_; }
  net::IoThread& thread() noexcept override { return thread_; }
  net::Task<> arrival() override { return read_gate_.wait(); }
  std::optional<Result<std::size_t>> try_read_body(std::span<char> into) override;
  bool body_ready() const noexcept override;
  bool body_ended() const noexcept override { return body_ended_; }
  void cancel_read() noexcept override;
  void write_head(const ClientResponse& response, BodyLength length) override;
  void flush() override;
  void write_body(std::string_view bytes, bool last) override;
  bool queue_full() const noexcept override { return queue_.full(); }
  bool behind() const noexcept override { return !queue_.empty(); }
  net::Task<bool> wait_for_room() override;
  /// Every byte is in the connection's output buffer at least.
  bool drained() const noexcept override {
    return queue_.empty() && (!response_complete_ || end_sent_) && !gone_;
  }
  net::Task<bool> wait_until_drained() override;
  bool head_written() const noexcept override { return head_written_; }
  bool gone() const noexcept override { return gone_; }
  void on_gone(std::function<void()> callback) override { on_gone_ = std::move(callback); }
  void abort() noexcept override;
  /// Body bytes; fields are compressed together with those of other streams.
  std::uint64_t bytes_received() const noexcept override { return bytes_received_; }
  std::uint64_t bytes_sent() const noexcept override { return bytes_sent_; }

 private:
  [[nodiscard]] std::size_t take_input(std::span<char> into);
  [[nodiscard]] net::Task<bool> deliver(net::Duration patience);
  [[nodiscard]] net::Task<> discard_upload();
  void send_continue();
  void client_left() noexcept;
  void reset(std::uint32_t error_code);

  H2Carrier& carrier_;
  net::IoThread& thread_;
  const std::int32_t stream_;
  net::Gate read_gate_;
  net::Gate write_gate_;
  std::function<void()> on_gone_;
  RequestHead head_;

  // The request body: what has arrived and was not read yet is `input_` from `input_start_` on.
  std::string input_;
  std::size_t input_start_ = 0;
  bool request_ended_;
  bool body_ended_;
  bool continue_due_ = false;
  bool read_cancelled_ = false;

  // The response: chunks that the session has not taken yet, and the one that is being written.
  ChunkQueue queue_;
  std::string_view direct_;
  bool head_written_ = false;
  bool has_body_ = false;
  bool response_complete_ = false;
  bool end_sent_ = false;

  bool closed_ = false;  // the session is not to be asked about the stream any more
  bool gone_ = false;
  bool aborted_ = false;

  std::uint64_t bytes_received_ = 0;
  std::uint64_t bytes_sent_ = 0;
  std::uint64_t bytes_taken_ = 0;  // of those sent, what the session has taken
};

}  // namespace smg::http
