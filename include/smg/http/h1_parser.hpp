#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <smg/base/result.hpp>
#include <smg/http/message.hpp>

/// HTTP/1 heads, from bytes to meaning (RFC 9112): no sockets, no buffering.
namespace smg::http {

struct HeadLimits {
  std::size_t head_bytes = 256 * 1024;
  std::size_t target_bytes = 65534;
  std::size_t name_bytes = 65535;
  std::size_t field_count = 100;
};

/// What is read at once while a head is awaited. Body bytes that come along are copied once more,
/// and stay in the memory of the connection until they are taken.
inline constexpr std::size_t kHeadReadBytes = 16 * 1024;

/// Memory for so many bytes of input a connection may keep while it has none.
inline constexpr std::size_t kKeptInputBytes = 4 * 1024;

/// Takes bytes off the front of a connection's input.
inline void consume_input(std::string& input, std::size_t bytes) {
  input.erase(0, bytes);
  if (input.empty() && input.capacity() > kKeptInputBytes) input.shrink_to_fit();
}

/// Where the head at the start of `bytes` ends, just behind its empty line; npos while it is not
/// whole. `searched` bytes are known to hold no end. Lines may end with a bare LF (RFC 9112 2.2).
[[nodiscard]] std::size_t find_head_end(std::string_view bytes, std::size_t searched) noexcept;

/// Fills `head` from `head.text`, one whole head with its empty line. Errors: BadRequest with
/// status 400, 414, 431, 501 or 505; the connection is to be closed then (RFC 9112 2.2, 3, 5, 6.3).
[[nodiscard]] Result<> parse_request_head(RequestHead& head, const HeadLimits& limits = {});

/// Fills `head` from `head.text` likewise. `to_head_request`: the response answers a HEAD and has
/// no body whatever its fields say. Errors: UpstreamConnect.
[[nodiscard]] Result<> parse_response_head(ResponseHead& head, bool to_head_request,
                                           const HeadLimits& limits = {});

}  // namespace smg::http
