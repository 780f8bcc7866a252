#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace smg::observability {

namespace detail {

inline constinit thread_local std::size_t number_and_one = 0;  ///< 0: not taken yet
void take_number();

}  // namespace detail

/// A number that the calling thread alone has, from 0. When a thread ends, the next one may take
/// over its number, and with it the memory that it counted in.
[[nodiscard]] inline std::size_t thread_number() {
  if (detail::number_and_one == 0) detail::take_number();
  return detail::number_and_one - 1;
}

/// Counts events of `Kinds` kinds for a scrape to add up: each thread counts in memory of its own,
/// so that an event costs a load and a store. Thread-safe.
template <std::size_t Kinds>
class Tally {
 public:
  void count(std::size_t kind, std::uint64_t events = 1) noexcept {
    const std::size_t thread = thread_number();
    if (thread < kOwnSlots) {
      auto& own = slots_[thread].counts[kind];
      own.store(own.load(std::memory_order_relaxed) + events, std::memory_order_relaxed);
    } else {
      slots_[kOwnSlots].counts[kind].fetch_add(events, std::memory_order_relaxed);
    }
  }

  [[nodiscard]] std::uint64_t total(std::size_t kind) const noexcept {
    std::uint64_t sum = 0;
    for (const Slot& slot : slots_) sum += slot.counts[kind].load(std::memory_order_relaxed);
    return sum;
  }

 private:
  /// Threads with higher numbers share one more.
  static constexpr std::size_t kOwnSlots = 63;

  struct alignas(64) Slot {
    std::array<std::atomic<std::uint64_t>, Kinds> counts{};
  };

  std::array<Slot, kOwnSlots + 1> slots_{};
};

}  // namespace smg::observability
