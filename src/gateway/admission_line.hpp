#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

namespace smg::gateway {

/// Permits for running requests: `capacity` of them, given out and given back. With a refill, more
/// come up as time passes, never above the capacity. Knows no clock.
class TokenBucket {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  /// Starts full. `per_second`: the refill; 0: none, so that the bucket only counts.
  TokenBucket(std::uint64_t capacity, std::uint64_t per_second, TimePoint now)
      : capacity_(capacity), per_second_(per_second), free_(capacity), counted_(now) {}

  [[nodiscard]] bool take(TimePoint now);
  void give_back(TimePoint now);

  /// The permits free at the last call with a time.
  [[nodiscard]] std::uint64_t free() const noexcept { return free_; }
  void set_free(std::uint64_t free) noexcept { free_ = free; }

  [[nodiscard]] bool refills() const noexcept { return per_second_ > 0; }
  /// When the refill brings the next permit; none: it brings none.
  [[nodiscard]] std::optional<TimePoint> next_refill() const;

 private:
  void refill(TimePoint now);

  std::uint64_t capacity_;
  std::uint64_t per_second_;
  std::uint64_t free_;
  TimePoint counted_;  ///< up to where the refill is part of `free_`
};

/// Requests in the order in which they came, and the permits that they wait for. Not thread-safe.
class AdmissionLine {
 public:
  using TimePoint = TokenBucket::TimePoint;
  /// Names a place in the line.
  using Ticket = std::uint64_t;
  /// Tells a request that it has left the line with a permit.
  using Admitted = std::function<void()>;

  enum class Arrival : std::uint8_t {
    Admitted,  ///< with a permit, at once
    Waits,
    LineFull,
    NoLine,  ///< nobody may wait
  };

  /// `places`: how many may wait.
  AdmissionLine(TokenBucket bucket, std::uint64_t places) : bucket_(bucket), places_(places) {}

  /// A request arrives. `admitted` and `ticket` count only if it has to wait: whoever came before
  /// it goes first, even if a permit has come up meanwhile.
  [[nodiscard]] Arrival arrive(TimePoint now, Admitted admitted, Ticket& ticket);

  /// A request gives up waiting. False: it has been admitted before.
  [[nodiscard]] bool leave(Ticket ticket);

  void give_back(TimePoint now) { bucket_.give_back(now); }

  /// Takes those out of the line for whom there are permits now; the caller tells them.
  [[nodiscard]] std::vector<Admitted> admit(TimePoint now);

  [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }
  [[nodiscard]] TokenBucket& bucket() noexcept { return bucket_; }

 private:
  struct Waiting {
    Ticket ticket;
    Admitted admitted;
  };

  TokenBucket bucket_;
  std::uint64_t places_;
  std::deque<Waiting> waiting_;  ///< tickets ascend
  Ticket next_ticket_ = 0;
};

}  // namespace smg::gateway
