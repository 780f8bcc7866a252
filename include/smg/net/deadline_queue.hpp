#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

namespace smg::net {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Duration = Clock::duration;

class DeadlineQueue;

/// One timeout, embedded in the object that it guards. Arming again moves it; destruction disarms
/// it.
class Deadline {
 public:
  /// `expired` runs on the queue's thread, directly below the event loop; the deadline is disarmed
  /// then.
  Deadline(DeadlineQueue& queue, std::function<void()> expired)
      : queue_(queue), expired_(std::move(expired)) {}
  ~Deadline() { disarm(); }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

  /// Fires once `after` from now. A zero or negative duration means "no limit" and only disarms.
  void arm(Duration after);
  void arm_at(TimePoint when);
  void disarm() noexcept;
  [[nodiscard]] bool armed() const noexcept { return position_ != kNotQueued; }
  [[nodiscard]] TimePoint when() const noexcept { return when_; }

 private:
  friend class DeadlineQueue;
  static constexpr std::size_t kNotQueued = static_cast<std::size_t>(-1);

  DeadlineQueue& queue_;
  std::function<void()> expired_;
  TimePoint when_{};
  std::size_t position_ = kNotQueued;
};

/// The timeouts of one IoThread in a binary heap: arming and disarming is a handful of moves and no
/// system call. It knows no timer: `advance` is called by the thread's loop, or by a test.
class DeadlineQueue {
 public:
  using NowFunction = TimePoint (*)();

  explicit DeadlineQueue(NowFunction now = &Clock::now) : now_(now) {}
  DeadlineQueue(const DeadlineQueue&) = delete;
  DeadlineQueue& operator=(const DeadlineQueue&) = delete;

  /// Runs everything due at `now`.
  void advance(TimePoint now);

  /// The next deadline; there must be one.
  [[nodiscard]] TimePoint earliest() const noexcept { return heap_.front()->when_; }

  [[nodiscard]] TimePoint now() const { return now_(); }
  [[nodiscard]] bool empty() const noexcept { return heap_.empty(); }

 private:
  friend class Deadline;
  void insert(Deadline& deadline);
  void remove(Deadline& deadline) noexcept;
  void place(std::size_t position, Deadline* deadline) noexcept;
  void sift_up(std::size_t position) noexcept;
  void sift_down(std::size_t position) noexcept;

  NowFunction now_;
  std::vector<Deadline*> heap_;
};

}  // namespace smg::net
