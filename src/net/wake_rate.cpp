#include <smg/net/wake_rate.hpp>

namespace smg::net {

bool WakeRate::turned(std::size_t events, TimePoint now) noexcept {
  ++turns_;
  events_ += events;
  if (turns_ >= kBusyFrom && 2 * events_ >= 3 * turns_) busy_ = true;
  const Duration elapsed = now - window_;
  if (elapsed >= kWindow) {
    const bool often = turns_ >= kBusyUntil && elapsed < 2 * kWindow;
    busy_ = busy_ && often && 4 * events_ >= 5 * turns_;
    window_ = now;
    turns_ = events_ = 0;
  }
  return busy_;
}

}  // namespace smg::net
