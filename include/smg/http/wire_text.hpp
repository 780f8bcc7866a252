#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include <sys/uio.h>

/// What both sides of HTTP/1 write their messages with.
namespace smg::http {

/// Bytes as a piece of a gather write, which does not change them.
[[nodiscard]] inline iovec piece_of(std::string_view bytes) noexcept {
  return {const_cast<char*>(bytes.data()), bytes.size()};
}

inline void append_number(std::string& out, std::uint64_t value) {
  char digits[24];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, end);
}

}  // namespace smg::http
