#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace smg::observability {

inline constexpr std::size_t kMaxRequestIdLength = 256;

/// `prefix` and 24 random characters of [A-Za-z0-9]. Unique for practical purposes, but no secret:
/// the generator is not a cryptographic one.
[[nodiscard]] std::string make_request_id(std::string_view prefix);

/// Whether a client's id may be used: only printable ASCII, blanks and tabs, and not empty.
[[nodiscard]] constexpr bool acceptable_request_id(std::string_view id) noexcept {
  for (const char c : id) {
    if ((c < ' ' || c > '~') && c != '\t') return false;
  }
  return !id.empty();
}

/// The id, cut after kMaxRequestIdLength characters.
[[nodiscard]] constexpr std::string_view clip_request_id(std::string_view id) noexcept {
  return id.substr(0, kMaxRequestIdLength);
}

}  // namespace smg::observability
