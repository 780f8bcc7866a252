#pragma once

#include <chrono>
#include <cstddef>
#include <utility>

#include <smg/net/deadline_queue.hpp>

namespace smg::net {

/// Decides when an event loop lets events gather before it is woken, as network cards moderate
/// their interrupts. To fall asleep and be woken for every event of a fast stream costs more than
/// the event; after a pause several are there, and those of one stream leave in one write. Nothing
/// is held back unless a stream is so fast (`EventPace`) and waits are short.
///
/// Pure: it is told of the loop's waits, and sleeps nowhere itself.
class WakeModeration {
 public:
  /// The longest that anything is held back.
  static constexpr Duration kPause = std::chrono::microseconds(300);

  /// Of what was just handled, more comes within a pause. Counts for the coming wait only.
  void expect_more() noexcept { expected_ = true; }
  [[nodiscard]] bool more_expected() const noexcept { return expected_; }

  /// How long to sleep before a wait for which more is expected; zero or less for not at all.
  [[nodiscard]] Duration pause_before_wait(TimePoint now) noexcept;

  /// Such a wait, its pause aside, began at `since` and has ended.
  void woken(TimePoint since, TimePoint now) noexcept;

 private:
  /// A wait that is shorter without a pause makes pauses worth their cost.
  static constexpr Duration kShortWait = kPause / 4;
  /// Pauses until one is left out, to see whether waits are still short.
  static constexpr int kPausesPerSample = 15;

  bool expected_ = false;
  bool paused_ = false;
  int pauses_left_ = 0;
  TimePoint last_wake_{};
};

/// How fast the events of one stream come.
class EventPace {
 public:
  /// Takes note of `events` that have come together. True: so fast, since those before them, that a
  /// pause brings at least one more.
  [[nodiscard]] bool more_within_pause(std::size_t events, TimePoint now) noexcept {
    const Duration since = now - std::exchange(last_, now);
    return since < WakeModeration::kPause * events;
  }

 private:
  TimePoint last_{};
};

}  // namespace smg::net
