#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>

#include <smg/observability/tally.hpp>

namespace smg::observability {

/// A number that one thread at a time adds to while any may read it: an addition is a load and a
/// store.
template <class Number>
class OwnNumber {
 public:
  void add(Number amount) noexcept {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  [[nodiscard]] Number value() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<Number> value_{0};
};

/// A `T` of each thread's own, made when the thread first comes, kept when it ends and handed on to
/// a later thread. Where there are too many at once, the last ones share one more, one at a time.
/// Thread-safe.
template <class T>
class PerThread {
 public:
  /// The thread's own; null if there is none yet, or only the shared one.
  [[nodiscard]] T* find() const {
    const std::size_t thread = thread_number();
    return thread < kOwnSlots ? slots_[thread].get() : nullptr;
  }

  /// Calls `use` with the thread's own or the shared one, and makes it.
  template <class Use>
  void with_own(const Use& use) {
    const std::size_t thread = thread_number();
    std::unique_lock lock(mutex_, std::defer_lock);
    if (thread >= kOwnSlots) lock.lock();
    auto& own = slots_[std::min(thread, kOwnSlots)];
    if (own == nullptr) own = std::make_unique<T>();
    use(*own);
  }

 private:
  static constexpr std::size_t kOwnSlots = 255;

  std::mutex mutex_;  // guards the last slot
  std::array<std::unique_ptr<T>, kOwnSlots + 1> slots_;
};

}  // namespace smg::observability
