#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include <smg/http/h2_session.hpp>
#include <smg/net/io_thread.hpp>
#include <smg/upstream/upstream_exchange.hpp>

namespace smg::upstream {

class H2Exchange;
// It is final, which a declaration cannot say. NOLINTNEXTLINE(*-virtual-class-destructor)
class H2UpstreamConnection;

/// What ties an exchange, on the thread of its client, to its stream, on the thread where the
/// worker's HTTP/2 connection lives. Each side touches only its own half; they talk by messages to
/// the other's thread, or directly when both live on one.
struct H2StreamLink {
  H2StreamLink(net::IoThread& exchange_thread, net::IoThread& connection_thread)
      : exchange_side(exchange_thread), connection_side(connection_thread) {}

  net::IoThread& exchange_side;
  net::IoThread& connection_side;
  [[nodiscard]] bool same_thread() const noexcept { return &exchange_side == &connection_side; }

  // The exchange's half.
  H2Exchange* exchange = nullptr;  ///< null once it has been released

  // The connection's half.
  H2UpstreamConnection* connection = nullptr;  ///< null while it waits for one, and behind its end
  std::int32_t stream = 0;
  std::vector<std::pair<std::string, std::string>> fields;  ///< of the request, pseudo-fields first
  bool has_body = false;
  /// Body pieces that nghttp2 has not taken yet: copies, or views that the exchange holds in place.
  std::deque<std::string_view> body;
  std::deque<std::string> copies;
  bool body_last = false;       ///< behind `body`, the body ends
  bool tell_when_sent = false;  ///< the exchange waits until `body` is empty
  bool reset_by_us = false;
  std::size_t data_event = 0;  ///< where among the connection's events its last Data may stand
  net::EventPace pace;
  std::uint64_t received = 0;
  std::uint64_t consumed = 0;
  std::uint64_t window = 0;
  std::uint64_t window_grown_at = 0;  ///< `consumed` when the window was last widened
};

using H2LinkPtr = std::shared_ptr<H2StreamLink>;

/// What a stream tells its exchange.
struct H2StreamEvent {
  enum class Kind : std::uint8_t {
    Head,      ///< `block`: the final response head
    Data,      ///< `bytes`
    End,       ///< the response is complete
    BodySent,  ///< everything given to `send` has been taken, or never will be
    Failed,    ///< `error`; `unprocessed`: the worker has not acted on the request
  };
  H2LinkPtr link;
  Kind kind;
  http::H2FieldBlock block{};
  std::string bytes{};
  std::size_t frames = 0;  ///< of DATA, from which `bytes` come
  bool ends = false;       ///< of a head: no body follows
  GatewayError error{};
};

}  // namespace smg::upstream
