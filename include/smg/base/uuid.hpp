#pragma once

#include <string>
#include <string_view>

namespace smg {

/// A new UUID of version 7 (RFC 9562): milliseconds since 1970, then random bits. Thread-safe.
[[nodiscard]] std::string make_uuid();

/// Whether a text has the form of a UUID, of any version and in any case.
[[nodiscard]] bool is_uuid(std::string_view text) noexcept;

}  // namespace smg
