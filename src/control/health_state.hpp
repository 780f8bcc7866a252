#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include <smg/routing/worker.hpp>

namespace smg::control {

/// What a row of health checks makes of a worker (spec "Health"):
///
///     ready     --`failure_threshold` failures in a row------->  not_ready
///     not_ready --3 x `failure_threshold` further ones-------->  failed
///     not_ready, failed --`success_threshold` successes in a row-->  ready
class HealthState {
 public:
  /// Thresholds below 1 count as 1.
  HealthState(std::uint32_t failure_threshold, std::uint32_t success_threshold,
              routing::WorkerStatus initial = routing::WorkerStatus::Ready)
      : failure_threshold_(std::max<std::uint64_t>(failure_threshold, 1)),
        success_threshold_(std::max<std::uint64_t>(success_threshold, 1)),
        status_(initial) {}

  /// Takes the result of one check; the new status if that changes it.
  [[nodiscard]] std::optional<routing::WorkerStatus> record(bool success) {
    auto& streak = success ? successes_ : failures_;
    (success ? failures_ : successes_) = 0;
    ++streak;
    const auto next = status_after(success);
    if (next == status_) return std::nullopt;
    status_ = next;
    failures_ = successes_ = 0;
    return next;
  }

  [[nodiscard]] routing::WorkerStatus status() const noexcept { return status_; }

 private:
  [[nodiscard]] routing::WorkerStatus status_after(bool success) const noexcept {
    using routing::WorkerStatus;
    if (success) return successes_ >= success_threshold_ ? WorkerStatus::Ready : status_;
    if (status_ == WorkerStatus::Ready && failures_ >= failure_threshold_) {
      return WorkerStatus::NotReady;
    }
    if (status_ == WorkerStatus::NotReady && failures_ >= 3 * failure_threshold_) {
      return WorkerStatus::Failed;
    }
    return status_;
  }

  const std::uint64_t failure_threshold_;
  const std::uint64_t success_threshold_;
  routing::WorkerStatus status_;
  std::uint64_t failures_ = 0;
  std::uint64_t successes_ = 0;
};

}  // namespace smg::control
