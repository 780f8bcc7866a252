#include "routing/random_number.hpp"

#include <random>

namespace smg::routing {

std::uint32_t random_below(std::uint32_t bound) noexcept {
  thread_local std::minstd_rand generator(std::random_device{}());
  // Multiply-shift: the bias for bounds of a fleet's size is far below anything observable.
  const auto bits = static_cast<std::uint64_t>(generator()) << 1;
  return static_cast<std::uint32_t>((bits * bound) >> 32);
}

}  // namespace smg::routing
