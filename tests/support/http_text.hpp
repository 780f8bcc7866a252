#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "support/raw_socket.hpp"

/// HTTP/1 as a test reads it off a socket: strict, and independent of the gateway's own parsers.
namespace smg::test {

struct TextResponse {
  int status = 0;  ///< 0: the connection ended before a head
  std::string head;
  std::string body;

  /// The value of the first field of this name, written in lower case; empty if there is none.
  [[nodiscard]] std::string field(std::string_view name) const {
    const auto at = head.find("\r\n" + std::string(name) + ": ");
    if (at == std::string::npos) return {};
    const auto from = at + name.size() + 4;
    return head.substr(from, head.find("\r\n", from) - from);
  }
  [[nodiscard]] bool has(std::string_view name) const {
    return head.find("\r\n" + std::string(name) + ": ") != std::string::npos;
  }
  [[nodiscard]] bool closes() const { return field("connection") == "close"; }
};

/// Takes a chunked body off the socket.
[[nodiscard]] inline std::string read_chunks(RawSocket& socket) {
  std::string body;
  for (;;) {
    const std::string line = socket.receive_until("\r\n");
    if (!line.ends_with("\r\n")) throw std::runtime_error("the chunked body breaks off");
    const auto size = std::stoul(line, nullptr, 16);
    const std::string chunk = socket.receive_exactly(size + 2);
    if (chunk.size() != size + 2 || !chunk.ends_with("\r\n")) {
      throw std::runtime_error("a chunk breaks off");
    }
    if (size == 0) return body;
    body.append(chunk, 0, size);
  }
}

/// The next response on the connection; `to_head`: it answers a HEAD.
[[nodiscard]] inline TextResponse read_response(RawSocket& socket, bool to_head = false) {
  TextResponse response;
  response.head = socket.receive_until("\r\n\r\n");
  if (!response.head.ends_with("\r\n\r\n")) return response;
  response.status = std::stoi(response.head.substr(9, 3));
  const bool bodiless =
      to_head || response.status < 200 || response.status == 204 || response.status == 304;
  if (bodiless) return response;
  if (response.has("content-length")) {
    response.body = socket.receive_exactly(std::stoul(response.field("content-length")));
  } else if (response.field("transfer-encoding") == "chunked") {
    response.body = read_chunks(socket);
  } else {
    response.body = socket.receive_rest();
  }
  return response;
}

}  // namespace smg::test
