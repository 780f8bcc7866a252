#pragma once

#include <cstdint>
#include <string_view>

namespace smg::relay {

/// The provider whose conventions a model's chat streams follow.
enum class ProviderProfile : std::uint8_t { None, MiniMax, Kimi, Zai, DeepSeek };

/// The profile that a model name selects: of its `/`-separated segments, the first with a profile
/// decides. `model` is the name as the client sent it, before aliases; ASCII case does not matter.
[[nodiscard]] ProviderProfile provider_profile_of(std::string_view model) noexcept;

}  // namespace smg::relay
