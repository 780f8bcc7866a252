#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include <smg/base/result.hpp>
#include <smg/http/message.hpp>
#include <smg/net/asio.hpp>
#include <smg/net/pipe.hpp>

namespace smg::upstream {

/// A request as it goes to a worker. Host, framing and Connection are the exchange's own business
/// and not among the fields. The views are read during `write_head` only.
struct UpstreamRequest {
  std::string_view method = "POST";
  std::string_view target;
  std::span<const http::Field> fields;
  http::BodyLength length;
};

/// One request to a worker and its response, whatever the protocol version: the waist between
/// relays and connection pools. Lives on one IoThread. Sending and receiving may go on side by
/// side, one coroutine each. After `abort` every pending and later call fails with its error.
class UpstreamExchange {
 public:
  virtual ~UpstreamExchange() = default;

  /// Queues the head; it leaves with the first body bytes or at `flush`.
  virtual void write_head(const UpstreamRequest& request) = 0;
  virtual void flush() = 0;

  /// Queues body pieces by reference and gives the kernel what it takes now. True: all of it has
  /// gone. Otherwise the pieces must stay in place until `flushed` returns or `keep_unsent` has
  /// copied what is left of them. `last` ends the body.
  [[nodiscard]] virtual bool send(std::span<const std::string_view> pieces, bool last) = 0;
  virtual void keep_unsent() = 0;

  /// Whether the next piece of the body may come out of a pipe.
  [[nodiscard]] virtual bool takes_pipe() const noexcept { return false; }

  /// As `send`, of the `bytes` that a pipe holds; they stay in it until they have gone. Only behind
  /// `flushed`.
  [[nodiscard]] virtual bool send_from(net::Pipe& /*pipe*/, std::size_t /*bytes*/, bool /*last*/) {
    return false;
  }

  /// Waits until the kernel has taken everything. Errors: UpstreamConnect when the worker takes no
  /// more bytes — it may have answered already, so the response is still to be read — or what
  /// `abort` was given.
  [[nodiscard]] virtual net::Task<Result<>> flushed() = 0;

  /// The final response head, if it has come; informational ones are skipped. The head is the
  /// exchange's own. Errors: UpstreamConnect (closed, reset, not HTTP), or what `abort` was given.
  [[nodiscard]] virtual std::optional<Result<const http::ResponseHead*>> try_read_head() = 0;

  /// Reads the next body bytes into `into`; 0 at the body's end, nullopt if none have come. Errors:
  /// UpstreamBodyFailed, or what `abort` was given.
  [[nodiscard]] virtual std::optional<Result<std::size_t>> try_read_body(std::span<char> into) = 0;

  /// Waits until `try_read_head` or `try_read_body` may have something to tell.
  [[nodiscard]] virtual net::Task<> arrival() = 0;

  /// The same two, waiting for the worker.
  [[nodiscard]] net::Task<Result<const http::ResponseHead*>> read_head();
  [[nodiscard]] net::Task<Result<std::size_t>> read_body(std::span<char> into);

  /// Body bytes are at hand, so that `read_body` will not wait.
  [[nodiscard]] virtual bool body_ready() const noexcept = 0;

  /// The response's body has been read to its end.
  [[nodiscard]] virtual bool body_ended() const noexcept = 0;

  /// At least one byte of a response has arrived: the worker has seen the request (ruling 18).
  [[nodiscard]] virtual bool response_begun() const noexcept = 0;

  /// Cuts the exchange off at once, as the worker sees it too. Idempotent.
  virtual void abort(GatewayError why) noexcept = 0;

  /// Ends the exchange: a connection in a clean state goes back to its pool, any other is closed.
  /// Called by UpstreamExchangePtr in place of a destructor.
  virtual void release() noexcept = 0;
};

struct ReleaseExchange {
  void operator()(UpstreamExchange* exchange) const noexcept { exchange->release(); }
};
using UpstreamExchangePtr = std::unique_ptr<UpstreamExchange, ReleaseExchange>;

}  // namespace smg::upstream
