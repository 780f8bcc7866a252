#pragma once

#include <cstdint>

namespace smg {

/// 64 random bits from a generator of the calling thread. Unique for practical purposes, but no
/// secret: the generator is not a cryptographic one. Reads the system's entropy once a thread.
[[nodiscard]] std::uint64_t random_bits();

}  // namespace smg
