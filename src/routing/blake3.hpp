#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace smg::routing {

/// The BLAKE3 hash (unkeyed, 32 bytes) of any number of bytes. Written for short input: one block
/// at a time, about a hundred nanoseconds each.
[[nodiscard]] std::array<std::uint8_t, 32> blake3(std::string_view input) noexcept;

/// The first eight bytes of that hash, read in little-endian order.
[[nodiscard]] std::uint64_t blake3_u64(std::string_view input) noexcept;

}  // namespace smg::routing
