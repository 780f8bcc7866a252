#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <sys/epoll.h>

#include <smg/net/wake_moderation.hpp>

namespace smg::net {

/// Told what happened on its descriptor, on the poller's thread and directly below the event loop.
class Watched {
 public:
  /// `events` are the EPOLL… flags; 0 for a call that was deferred. May remove or destroy this or
  /// any other watched object.
  virtual void on_events(std::uint32_t events) = 0;

 protected:
  ~Watched() = default;
};

/// Waits for what happens on the descriptors of one IoThread. A descriptor is added once with all
/// that will ever be of interest, and watched for edges, so that waiting for it again costs no
/// system call. All members but `wake` are used on that thread, or before it runs.
class Poller {
 public:
  /// Throws std::system_error when the process has no descriptors left.
  Poller();
  ~Poller();
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  /// `events`: EPOLL… flags. False: the kernel refused, `errno` says why.
  [[nodiscard]] bool add(int descriptor, std::uint32_t events, Watched& watched) noexcept;

  /// Takes a descriptor out that stays open.
  void remove(int descriptor, const Watched& watched) noexcept;

  /// Forgets one that is closed now: the kernel takes it out by itself.
  void forget(const Watched& watched) noexcept;

  /// Whether events of this turn are, or may be, still to be told.
  [[nodiscard]] bool has_news_of(const Watched& watched) const noexcept;

  /// When `poll` last looked: what happened before is told, or still to be told.
  [[nodiscard]] TimePoint looked_at() const noexcept { return looked_at_; }

  /// Whether what the last look did not tell has hardly happened. A turn may be long, with a large
  /// body to parse or a processor to wait for.
  [[nodiscard]] bool looked_just_now() const noexcept {
    return Clock::now() - looked_at_ < kJustNow;
  }

  /// Calls `watched.on_events(0)` in the next turn.
  void defer(Watched& watched);

  /// Waits up to `timeout` (negative: for ever) and tells whom it concerns. What they throw passes
  /// through; the rest of the turn is made up for by the next one. Returns how many events there
  /// were.
  std::size_t poll(std::chrono::milliseconds timeout);

  /// Of what was just handled, more comes at once: the next `poll` may let it gather for some
  /// hundred microseconds (`WakeModeration`).
  void expect_more() noexcept { moderation_.expect_more(); }

  /// Ends the current or the next `poll` early. From any thread.
  void wake() noexcept;

  /// From here on a `wake` counts for the next `poll`.
  void expect_wake() noexcept { woken_.store(false); }

 private:
  static constexpr std::size_t kBatch = 128;
  static constexpr Duration kJustNow = std::chrono::microseconds(50);

  [[nodiscard]] int wait(std::chrono::milliseconds timeout) noexcept;
  [[nodiscard]] int moderated_wait(std::chrono::milliseconds timeout) noexcept;
  void tell_deferred();
  void tell_batch();

  TimePoint looked_at_{};
  int epoll_;
  int wake_;
  std::atomic<bool> woken_{false};
  WakeModeration moderation_;
  std::array<epoll_event, kBatch> batch_{};
  std::size_t next_ = 0;  ///< first of the batch that was not told yet
  std::size_t end_ = 0;
  std::vector<Watched*> deferred_;
  std::vector<Watched*> due_;
};

}  // namespace smg::net
