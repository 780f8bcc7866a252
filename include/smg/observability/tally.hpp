#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace smg::observability {

/// A number of the calling thread's own, counted from 0.
[[nodiscard]] inline std::size_t thread_number() noexcept {
  static std::atomic<std::size_t> next{0};
  thread_local const std::size_t number = next.fetch_add(1, std::memory_order_relaxed);
  return number;
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
  /// Later threads share one more.
  static constexpr std::size_t kOwnSlots = 63;

  struct alignas(64) Slot {
    std::array<std::atomic<std::uint64_t>, Kinds> counts{};
  };

  std::array<Slot, kOwnSlots + 1> slots_{};
};

}  // namespace smg::observability
