#include <cmath>

#include <smg/relay/retry_rule.hpp>

namespace smg::relay {

using routing::Outcome;

namespace {

bool speaks_of_overload(int status, const std::optional<routing::StatusSet>& own) noexcept {
  return own ? own->contains(status) : status == 429 || status == 529;
}

bool is_failure(int status, const std::optional<routing::StatusSet>& own) noexcept {
  return own ? own->contains(status) : status == 408 || status >= 500;
}

}  // namespace

bool is_retryable(int status) noexcept {
  switch (status) {
    case 408:
    case 429:
    case 500:
    case 502:
    case 503:
    case 504: return true;
    default: return false;
  }
}

bool is_retryable(const GatewayError& error) noexcept {
  return row(error.code).fault == Fault::Worker && is_retryable(error.status());
}

Outcome outcome_of(int status, const routing::BreakerStatuses& own) noexcept {
  if (speaks_of_overload(status, own.capacity)) return Outcome::None;
  return is_failure(status, own.failures) ? Outcome::Failure : Outcome::Success;
}

Outcome outcome_of(const GatewayError& error) noexcept {
  return row(error.code).fault == Fault::Worker ? Outcome::Failure : Outcome::None;
}

config::Milliseconds backoff(const config::Retry& settings, std::uint32_t repetition,
                             double draw) noexcept {
  const auto initial = static_cast<double>(settings.initial_backoff.count());
  const auto most = static_cast<double>(settings.max_backoff.count());
  const double base = std::min(initial * std::pow(settings.multiplier, repetition - 1), most);
  const double spread = 1.0 + settings.jitter * (2.0 * draw - 1.0);
  return config::Milliseconds(std::llround(base * spread));
}

double random_draw() noexcept {
  thread_local std::minstd_rand generator(std::random_device{}());
  return std::uniform_real_distribution<double>(0.0, 1.0)(generator);
}

}  // namespace smg::relay
