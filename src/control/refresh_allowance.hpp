#pragma once

#include <cstddef>
#include <deque>

#include <smg/net/deadline_queue.hpp>

namespace smg::control {

/// How often strangers may make us ask the issuer for its keys: any token that names an unknown key
/// does.
class RefreshAllowance {
 public:
  static constexpr std::size_t kMost = 5;
  static constexpr net::Duration kSpan = std::chrono::minutes(1);

  /// Takes one of `kMost` in any `kSpan`. False: none is left now.
  [[nodiscard]] bool take(net::TimePoint now) {
    while (!taken_.empty() && now - taken_.front() >= kSpan) taken_.pop_front();
    if (taken_.size() == kMost) return false;
    taken_.push_back(now);
    return true;
  }

 private:
  std::deque<net::TimePoint> taken_;
};

}  // namespace smg::control
