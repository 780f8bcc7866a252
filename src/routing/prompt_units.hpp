#pragma once

#include <cstdint>
#include <span>
#include <string_view>

/// Prompts as bytes, and back: token ids are little-endian u32, texts are UTF-8.
namespace smg::routing {

/// The bytes of token ids, where they are.
[[nodiscard]] std::string_view bytes_of(std::span<const std::uint32_t> tokens) noexcept;

/// Unicode scalar values in UTF-8 text. A sequence that is cut off at the end counts.
[[nodiscard]] std::size_t count_characters(std::string_view text) noexcept;

/// The text up to its `count`-th character; all of it if it is shorter.
[[nodiscard]] std::string_view first_characters(std::string_view text, std::size_t count) noexcept;

}  // namespace smg::routing
