#pragma once

#include <cstdint>

namespace smg::routing {

/// A uniform number below `bound` (at least 1), from a generator of the calling thread.
[[nodiscard]] std::uint32_t random_below(std::uint32_t bound) noexcept;

}  // namespace smg::routing
