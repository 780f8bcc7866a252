#include "gateway/admission_line.hpp"

#include <algorithm>
#include <utility>

namespace smg::gateway {
namespace {

using std::chrono::nanoseconds;

constexpr double kNanosecondsPerSecond = 1e9;

}  // namespace

void TokenBucket::refill(TimePoint now) {
  if (per_second_ == 0 || now <= counted_) return;
  const auto rate = static_cast<double>(per_second_) / kNanosecondsPerSecond;
  const double earned = static_cast<double>(nanoseconds(now - counted_).count()) * rate;
  if (earned >= static_cast<double>(capacity_ - free_)) {
    // A full bucket earns nothing.
    free_ = capacity_;
    counted_ = now;
    return;
  }
  const auto whole = static_cast<std::uint64_t>(earned);
  free_ += whole;
  counted_ += nanoseconds(static_cast<std::int64_t>(static_cast<double>(whole) / rate));
}

bool TokenBucket::take(TimePoint now) {
  refill(now);
  if (free_ == 0) return false;
  --free_;
  return true;
}

void TokenBucket::give_back(TimePoint now) {
  refill(now);
  if (free_ < capacity_) ++free_;
}

std::optional<TokenBucket::TimePoint> TokenBucket::next_refill() const {
  if (per_second_ == 0 || free_ == capacity_) return std::nullopt;
  const double wait = kNanosecondsPerSecond / static_cast<double>(per_second_);
  return counted_ + nanoseconds(static_cast<std::int64_t>(wait) + 1);
}

AdmissionLine::Arrival AdmissionLine::arrive(TimePoint now, Admitted admitted, Ticket& ticket) {
  if (waiting_.empty() && bucket_.take(now)) return Arrival::Admitted;
  if (places_ == 0) return Arrival::NoLine;
  if (waiting_.size() >= places_) return Arrival::LineFull;
  ticket = next_ticket_++;
  waiting_.push_back({ticket, std::move(admitted)});
  return Arrival::Waits;
}

bool AdmissionLine::leave(Ticket ticket) {
  const auto found = std::ranges::lower_bound(waiting_, ticket, {}, &Waiting::ticket);
  if (found == waiting_.end() || found->ticket != ticket) return false;
  waiting_.erase(found);
  return true;
}

std::vector<AdmissionLine::Admitted> AdmissionLine::admit(TimePoint now) {
  std::vector<Admitted> admitted;
  while (!waiting_.empty() && bucket_.take(now)) {
    admitted.push_back(std::move(waiting_.front().admitted));
    waiting_.pop_front();
  }
  return admitted;
}

}  // namespace smg::gateway
