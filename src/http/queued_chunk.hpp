#pragma once

#include <algorithm>
#include <cstddef>
#include <string>

namespace smg::http {

/// Room for a chunk that waits for a slow client. A large one is made so large that the allocator
/// maps it (from 64 KiB on, see run_daemon.cpp): when the client has left, the memory is the
/// system's again, and does not lie about in the heap. Pages that are not written to cost nothing.
inline void reserve_queued(std::string& chunk, std::size_t bytes) {
  constexpr std::size_t kLarge = 32 * 1024;
  constexpr std::size_t kMapped = 64 * 1024;
  chunk.reserve(bytes < kLarge ? bytes : std::max(bytes, kMapped));
}

}  // namespace smg::http
