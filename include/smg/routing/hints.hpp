#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace smg::routing {

/// Whether an `x-smg-routing-tokens` value is valid: 1 to 512 decimal u32 token ids separated by
/// commas, nothing else, at most 4096 bytes. An invalid hint is ignored, never an error.
[[nodiscard]] bool is_valid_tokens_hint(std::string_view value) noexcept;

/// The ids of an `x-smg-routing-tokens` value; nothing of an invalid one.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> parse_tokens_hint(std::string_view value);

/// Whether a value can be a routing key: UTF-8 of 1 to 128 bytes.
[[nodiscard]] bool is_valid_routing_key(std::string_view value) noexcept;

/// The sticky-session key in a body's `rid` or in a header of --routing-key-headers: the value
/// without one trailing `_r<digits>` and then one trailing `_t<digits>`, or whole if nothing else
/// is left of it. Empty: the value is no valid routing key.
[[nodiscard]] std::string_view session_key(std::string_view value) noexcept;

}  // namespace smg::routing
