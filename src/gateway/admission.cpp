#include "gateway/admission.hpp"

namespace smg::gateway {
namespace {

using Clock = std::chrono::steady_clock;

/// What shed clients are told to wait.
constexpr int kRetryAfterSeconds = 2;

std::uint64_t capacity(const config::Admission& settings) noexcept {
  return settings.max_concurrent_requests > 0
             ? static_cast<std::uint64_t>(settings.max_concurrent_requests)
             : 0;
}

}  // namespace

/// The line under its lock, with the free permits counted in it. Those who got one on the way are
/// told behind the lock.
class Admission::Locked {
 public:
  explicit Locked(Admission& admission) : admission_(admission), lock_(admission.mutex_) {
    const auto free = admission.free_.exchange(kClosed, std::memory_order_acquire);
    if (free != kClosed) line().bucket().set_free(static_cast<std::uint64_t>(free));
  }
  ~Locked() {
    if (!line().empty() || line().bucket().refills()) return;
    const auto free = static_cast<std::int64_t>(line().bucket().free());
    admission_.free_.store(free, std::memory_order_release);
  }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

  [[nodiscard]] AdmissionLine& line() noexcept { return admission_.line_; }

 private:
  Admission& admission_;
  const std::lock_guard<std::mutex> lock_;
};

/// A request that waits, and what wakes it, from whichever thread.
struct Admission::Waiter {
  explicit Waiter(net::IoThread& waiting_on) : thread(waiting_on), gate(waiting_on.executor()) {}

  net::IoThread& thread;
  net::Gate gate;
};

/// A place in the line, given up with its owner; with the permit, if one had come by then.
class Admission::Place {
 public:
  Place(Admission& admission, AdmissionLine::Ticket ticket)
      : admission_(admission), ticket_(ticket) {
    admission_.metrics_.admission_wait_began();
  }
  ~Place() { static_cast<void>(leave()); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  /// The permit that has come up for this place, if so.
  [[nodiscard]] AdmissionPermit leave() {
    if (std::exchange(left_, true)) return {};
    admission_.metrics_.admission_wait_ended();
    if (Locked(admission_).line().leave(ticket_)) return {};
    return AdmissionPermit(admission_);
  }

 private:
  Admission& admission_;
  AdmissionLine::Ticket ticket_;
  bool left_ = false;
};

AdmissionPermit::AdmissionPermit(Admission& admission) : admission_(&admission) {
  admission.metrics_.admission_permit_taken();
}

void AdmissionPermit::give_back() {
  if (auto* admission = std::exchange(admission_, nullptr)) admission->give_back();
}

Admission::Admission(const config::Admission& settings, net::IoThreads& threads,
                     observability::Metrics& metrics)
    : settings_(settings),
      limited_(settings.max_concurrent_requests > 0),
      timing_thread_(threads[0]),
      metrics_(metrics),
      line_({capacity(settings), settings.rate_limit_tokens_per_second, Clock::now()},
            settings.queue_size),
      refill_due_(threads[0].deadlines(), [this] { refill(); }) {
  if (!limited_) return;
  metrics_.show_admission();
  const Locked opened(*this);
}

AdmissionPermit Admission::try_enter() {
  auto free = free_.load(std::memory_order_relaxed);
  while (free > 0) {
    if (free_.compare_exchange_weak(free, free - 1, std::memory_order_acquire)) {
      metrics_.count_rate_limit(true);
      return AdmissionPermit(*this);
    }
  }
  return {};
}

net::Task<Result<AdmissionPermit>> Admission::enter(http::ClientExchange& client) {
  using Arrival = AdmissionLine::Arrival;
  const auto waiter = std::make_shared<Waiter>(client.thread());
  const auto wake = [waiter] { waiter->thread.post([waiter] { waiter->gate.open_and_resume(); }); };
  AdmissionLine::Ticket ticket = 0;
  const auto arrival = Locked(*this).line().arrive(Clock::now(), wake, ticket);
  if (arrival == Arrival::Admitted) {
    metrics_.count_rate_limit(true);
    co_return AdmissionPermit(*this);
  }
  if (arrival == Arrival::NoLine) {
    co_return shed(ErrorCode::AdmissionQueueFull, {},
                   "concurrency limit reached and queuing is disabled");
  }
  if (arrival == Arrival::LineFull) {
    co_return shed(ErrorCode::AdmissionQueueFull, "full", "admission queue is at capacity");
  }
  Place place(*this, ticket);
  co_await wait_in_line(client, *waiter);
  AdmissionPermit permit = place.leave();
  if (client.gone()) co_return fail(ErrorCode::ClientGone);
  if (!permit.held()) {
    co_return shed(ErrorCode::AdmissionQueueTimeout, "timeout",
                   "timed out waiting for an admission slot");
  }
  metrics_.count_rate_limit(true);
  co_return permit;
}

/// Returns when the waiter has its permit, the client has left, or the time is over.
net::Task<> Admission::wait_in_line(http::ClientExchange& client, Waiter& waiter) {
  if (line_.bucket().refills()) timing_thread_.post([this] { refill(); });
  client.on_gone([&waiter] { waiter.gate.open(); });
  if (!client.gone()) {
    co_await net::sleep_or_wake(client.thread(), waiter.gate, settings_.queue_timeout);
  }
  client.on_gone(nullptr);
}

void Admission::give_back() {
  metrics_.admission_permit_returned();
  auto free = free_.load(std::memory_order_relaxed);
  while (free != kClosed) {
    if (free_.compare_exchange_weak(free, free + 1, std::memory_order_release)) return;
  }
  std::vector<AdmissionLine::Admitted> admitted;
  {
    Locked locked(*this);
    const auto now = Clock::now();
    locked.line().give_back(now);
    admitted = locked.line().admit(now);
  }
  for (const auto& tell : admitted) tell();
}

/// Counts a request that is turned away. `reason`: a label; empty where there is no queue.
GatewayError Admission::shed(ErrorCode code, std::string_view reason, std::string message) {
  metrics_.count_rate_limit(false);
  if (!reason.empty()) metrics_.count_admission_rejected(reason);
  GatewayError error = fail(code, std::move(message));
  error.retry_after_seconds = kRetryAfterSeconds;
  return error;
}

/// Admits those for whom time alone has brought a permit, and comes back for the next ones.
void Admission::refill() {
  std::vector<AdmissionLine::Admitted> admitted;
  std::optional<TokenBucket::TimePoint> next;
  {
    Locked locked(*this);
    admitted = locked.line().admit(Clock::now());
    if (!locked.line().empty()) next = locked.line().bucket().next_refill();
  }
  for (const auto& tell : admitted) tell();
  if (next) refill_due_.arm_at(*next);
}

}  // namespace smg::gateway
