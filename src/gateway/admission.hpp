#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "gateway/admission_line.hpp"
#include <smg/base/result.hpp>
#include <smg/config/gateway_config.hpp>
#include <smg/http/client_exchange.hpp>
#include <smg/observability/metrics.hpp>

namespace smg::gateway {

class Admission;

/// The right of one request to run; given back when it goes.
class AdmissionPermit {
 public:
  AdmissionPermit() = default;
  AdmissionPermit(AdmissionPermit&& other) noexcept
      : admission_(std::exchange(other.admission_, nullptr)) {}
  AdmissionPermit& operator=(AdmissionPermit&& other) noexcept {
    std::swap(admission_, other.admission_);
    return *this;
  }
  ~AdmissionPermit() { give_back(); }

  [[nodiscard]] bool held() const noexcept { return admission_ != nullptr; }
  /// Idempotent.
  void give_back();

 private:
  friend class Admission;
  explicit AdmissionPermit(Admission& admission);

  Admission* admission_ = nullptr;
};

/// Bounds how many requests run at once, on all io threads together (spec, shell section 6): up to
/// --max-concurrent-requests hold a permit, further ones wait in line or are shed. Thread-safe.
///
/// While nobody waits, a permit is one atomic counter; the line and its lock come in when the
/// permits have run out. With --rate-limit-tokens-per-second the clock counts too, and all goes by
/// the lock.
class Admission {
 public:
  Admission(const config::Admission& settings, net::IoThreads& threads,
            observability::Metrics& metrics);
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  /// Whether there is a limit at all; constant. Without one nothing else here is to be called.
  [[nodiscard]] bool limited() const noexcept { return limited_; }

  /// A permit, if there is one right now and nobody waits for it.
  [[nodiscard]] AdmissionPermit try_enter();

  /// A permit, waited for in line. The client's body stays unread meanwhile. Errors:
  /// AdmissionQueueFull, AdmissionQueueTimeout, ClientGone.
  [[nodiscard]] net::Task<Result<AdmissionPermit>> enter(http::ClientExchange& client);

 private:
  friend class AdmissionPermit;
  class Locked;
  class Place;
  struct Waiter;

  void give_back();
  [[nodiscard]] net::Task<> wait_in_line(http::ClientExchange& client, Waiter& waiter);
  [[nodiscard]] GatewayError shed(ErrorCode code, std::string_view reason, std::string message);
  void refill();

  /// In place of the number of free permits: the line counts them, under the lock.
  static constexpr std::int64_t kClosed = -1;

  const config::Admission& settings_;
  const bool limited_;
  net::IoThread& timing_thread_;
  observability::Metrics& metrics_;
  alignas(64) std::atomic<std::int64_t> free_{kClosed};
  alignas(64) std::mutex mutex_;
  AdmissionLine line_;        ///< under the lock
  net::Deadline refill_due_;  ///< on the timing thread
};

}  // namespace smg::gateway
