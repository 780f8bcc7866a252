#pragma once

#include <string_view>

namespace smg::routing {

/// Whether an `x-smg-routing-tokens` value is valid: 1 to 512 decimal u32 token ids separated by commas,
/// nothing else, at most 4096 bytes. An invalid hint is ignored, never an error.
[[nodiscard]] bool is_valid_tokens_hint(std::string_view value) noexcept;

}  // namespace smg::routing
