#pragma once

#include <cstddef>

#include <smg/net/deadline_queue.hpp>

namespace smg::net {

/// Judges by the turns of an event loop whether its thread had better wait for a processor than
/// push a running thread aside for each event: to be switched to costs more than an event, and
/// behind a short wait there are several. That is so where a loop turns often and its events come
/// in company; one that turns rarely, or for one connection alone, is to be on time.
///
/// Pure: it is told of the turns.
class WakeRate {
 public:
  /// The loop has turned once more, for so many events. True: its thread should wait.
  [[nodiscard]] bool turned(std::size_t events, TimePoint now) noexcept;

  static constexpr Duration kWindow = std::chrono::milliseconds(10);
  /// Turns within a window that make a loop busy, and those that keep it so: busy, it turns less
  /// often for the same work.
  static constexpr std::size_t kBusyFrom = 32;
  static constexpr std::size_t kBusyUntil = 16;

 private:
  TimePoint window_{};
  std::size_t turns_ = 0;
  std::size_t events_ = 0;
  bool busy_ = false;
};

}  // namespace smg::net
