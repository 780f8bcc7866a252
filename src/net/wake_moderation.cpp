#include <smg/net/wake_moderation.hpp>

namespace smg::net {

Duration WakeModeration::pause_before_wait(TimePoint now) noexcept {
  expected_ = false;
  paused_ = pauses_left_ > 0;
  if (!paused_) return {};
  --pauses_left_;
  return last_wake_ + kPause - now;
}

void WakeModeration::woken(TimePoint since, TimePoint now) noexcept {
  last_wake_ = now;
  if (now - since >= kShortWait) {
    pauses_left_ = 0;
  } else if (!paused_) {
    pauses_left_ = kPausesPerSample;
  }
}

}  // namespace smg::net
