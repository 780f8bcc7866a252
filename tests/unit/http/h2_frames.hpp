#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/raw_socket.hpp"

/// HTTP/2 as bytes, independent of the gateway's own session: what no well-behaved library would
/// send.
namespace smg::test {

inline constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

enum FrameType : std::uint8_t {
  kData = 0,
  kHeaders = 1,
  kRstStream = 3,
  kSettings = 4,
  kPing = 6,
  kGoaway = 7,
  kWindowUpdate = 8,
  kContinuation = 9,
};

inline constexpr std::uint8_t kEndStream = 1;
inline constexpr std::uint8_t kAck = 1;
inline constexpr std::uint8_t kEndHeaders = 4;

struct Frame {
  std::uint8_t type = 0xFF;  ///< 0xFF: the connection has ended
  std::uint8_t flags = 0;
  std::uint32_t stream = 0;
  std::string payload;

  /// The 32-bit number at this place of the payload: an error code, a stream.
  [[nodiscard]] std::uint32_t number(std::size_t at = 0) const {
    std::uint32_t value = 0;
    for (std::size_t i = at; i < at + 4; ++i) {
      value = value << 8 | static_cast<unsigned char>(payload.at(i));
    }
    return value;
  }
};

[[nodiscard]] inline std::string big_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
  return text;
}

[[nodiscard]] inline std::string frame(FrameType type, std::uint8_t flags, std::uint32_t stream,
                                       std::string_view payload = {}) {
  return big_endian(payload.size(), 3) + static_cast<char>(type) + static_cast<char>(flags) +
         big_endian(stream, 4) + std::string(payload);
}

using RawFields = std::vector<std::pair<std::string, std::string>>;

/// Field lines as HPACK literals that touch no table; names and values shorter than 127 bytes.
[[nodiscard]] inline std::string literals(const RawFields& fields) {
  std::string block;
  for (const auto& [name, value] : fields) {
    block += '\0';
    block += static_cast<char>(name.size()) + name;
    block += static_cast<char>(value.size()) + value;
  }
  return block;
}

[[nodiscard]] inline std::string greeting() {
  return std::string(kPreface) + frame(kSettings, 0, 0);
}

[[nodiscard]] inline Frame next_frame(RawSocket& socket) {
  const std::string head = socket.receive_exactly(9);
  if (head.size() < 9) return {};
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(head[i]); };
  const std::size_t size = std::size_t{byte(0)} << 16 | std::size_t{byte(1)} << 8 | byte(2);
  const std::uint32_t stream = static_cast<std::uint32_t>(byte(5)) << 24 |
                               static_cast<std::uint32_t>(byte(6)) << 16 |
                               static_cast<std::uint32_t>(byte(7)) << 8 | byte(8);
  return {byte(3), byte(4), stream, socket.receive_exactly(size)};
}

/// The next frame of this type, or the connection's end.
[[nodiscard]] inline Frame await_frame(RawSocket& socket, FrameType type) {
  Frame next = next_frame(socket);
  while (next.type != type && next.type != 0xFF) next = next_frame(socket);
  return next;
}

}  // namespace smg::test
