#pragma once

#include <functional>
#include <optional>

#include <smg/base/result.hpp>
#include <smg/http/message.hpp>
#include <smg/net/io_thread.hpp>
#include <smg/net/pipe.hpp>

namespace smg::http {

/// A response head of the gateway's making: what `ClientExchange::write_head` sends. Connection,
/// framing and Date fields are the connection's own business and not among the fields.
struct ClientResponse {
  int status = 200;
  Fields fields;
};

/// One request of a client and our response to it, whatever the protocol version: the waist between
/// connections and relays. Lives on one IoThread.
///
/// The response goes through a bounded queue: `write_*` hand bytes to the kernel as far as it takes
/// them and queue copies of the rest. Whoever writes asks `queue_full()` after each piece and waits
/// when it is: that is the page's bounded channel of 32 chunks between the upstream reader and the
/// client. Large chunks fill it sooner, so that a client that does not read costs less than 1 MiB.
class ClientExchange {
 public:
  static constexpr std::size_t kMaxQueuedChunks = 32;
  static constexpr std::size_t kMaxQueuedBytes = 256 * 1024;

  virtual ~ClientExchange() = default;

  [[nodiscard]] virtual const RequestHead& head() const noexcept = 0;
  [[nodiscard]] virtual net::IoThread& thread() noexcept = 0;

  /// Reads the next body bytes into `into`; 0 at the body's end, nullopt if none have come. Sends
  /// `100 Continue` first where the client waits for it. Errors: BodyAborted (the client left in
  /// mid-body), BodyUnreadable (broken chunked coding), Aborted (after `cancel_read`).
  [[nodiscard]] virtual std::optional<Result<std::size_t>> try_read_body(std::span<char> into) = 0;

  /// Waits until `try_read_body` may have something to tell.
  [[nodiscard]] virtual net::Task<> arrival() = 0;

  /// `try_read_body`, waiting for the client as long as it takes.
  [[nodiscard]] net::Task<Result<std::size_t>> read_body(std::span<char> into);

  /// How much of the body will come as it is on a socket, from here to its end, so that it can be
  /// read into a pipe; 0 if it cannot.
  [[nodiscard]] virtual std::uint64_t spliceable_bytes() const noexcept { return 0; }

  /// As `read_body`, into an empty pipe. Only while there are spliceable bytes.
  [[nodiscard]] virtual net::Task<Result<std::size_t>> read_body_into(net::Pipe& /*pipe*/) {
    co_return std::size_t{0};
  }

  /// Body bytes that the client has announced and not sent yet, by its Content-Length or by the
  /// size of the chunk that it is sending; 0 where nothing says so.
  [[nodiscard]] virtual std::uint64_t announced_bytes() const noexcept { return 0; }

  /// Body bytes are at hand, so that `read_body` will not wait.
  [[nodiscard]] virtual bool body_ready() const noexcept = 0;

  /// The request's body has been read to its end.
  [[nodiscard]] virtual bool body_ended() const noexcept = 0;

  /// Ends a pending `read_body`, and all later ones, with Aborted.
  virtual void cancel_read() noexcept = 0;

  /// Queues the response head; it leaves with the first body bytes or at `flush`.
  virtual void write_head(const ClientResponse& response, BodyLength length) = 0;
  virtual void flush() = 0;

  /// Writes body bytes; `last` completes the response. An empty piece that is not last does
  /// nothing.
  virtual void write_body(std::string_view bytes, bool last) = 0;

  [[nodiscard]] virtual bool queue_full() const noexcept = 0;

  /// The client has not taken all that was written.
  [[nodiscard]] virtual bool behind() const noexcept = 0;

  /// Waits until the queue has room. False: the client is gone.
  [[nodiscard]] virtual net::Task<bool> wait_for_room() = 0;

  /// The kernel has taken every byte, and the client is there.
  [[nodiscard]] virtual bool drained() const noexcept = 0;

  /// Waits until the kernel has taken every byte. False: the client is gone.
  [[nodiscard]] virtual net::Task<bool> wait_until_drained() = 0;

  [[nodiscard]] virtual bool head_written() const noexcept = 0;

  /// The client has left, or the exchange was cut off by `abort`.
  [[nodiscard]] virtual bool gone() const noexcept = 0;

  /// Called once when that happens, from the event loop; replaces an earlier callback. Must not
  /// destroy anything of the exchange.
  virtual void on_gone(std::function<void()> callback) = 0;

  /// Cuts the exchange off. Idempotent; pending waits end.
  virtual void abort() noexcept = 0;

  /// Bytes of the bodies alone, without heads and framing.
  [[nodiscard]] virtual std::uint64_t bytes_received() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t bytes_sent() const noexcept = 0;
};

/// What a server connection calls for each request; returns when the response is written or given
/// up.
class RequestHandler {
 public:
  virtual ~RequestHandler() = default;
  [[nodiscard]] virtual net::Task<> handle(ClientExchange& client) = 0;
};

}  // namespace smg::http
