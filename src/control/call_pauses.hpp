#pragma once

#include <cstdint>

#include <smg/net/deadline_queue.hpp>
#include <smg/relay/retry_rule.hpp>

namespace smg::control {

/// How an endless series of calls goes on: at once behind one that was worth its while, otherwise
/// after pauses that grow from half a second to half a minute, each shortened by up to a half at
/// random, so that many gateways do not ask in step.
class CallPauses {
 public:
  /// `draw` is uniform in [0, 1). `ended_well`: without an error. `worth_it`: something came of it.
  [[nodiscard]] net::Duration after(bool ended_well, bool worth_it, double draw) noexcept {
    if (worth_it) failures_ = 0;
    if (ended_well && worth_it) return net::Duration::zero();
    ++failures_;
    config::Retry growth;
    growth.initial_backoff = config::Milliseconds(500);
    growth.max_backoff = config::Milliseconds(30'000);
    growth.multiplier = 2;
    growth.jitter = 0;
    const auto whole = relay::backoff(growth, failures_, draw);
    return std::chrono::duration_cast<net::Duration>(whole * (1 - draw / 2));
  }

 private:
  std::uint32_t failures_ = 0;  ///< in a row
};

}  // namespace smg::control
