#include "relay/attempt_loop.hpp"

#include <smg/relay/retry_rule.hpp>

namespace smg::relay {
namespace {

/// Waits before the next attempt. False: the client has left meanwhile.
net::Task<bool> back_off(const Services& services, RequestContext& request,
                         std::uint32_t repetition) {
  const auto delay = backoff(services.config.retry, repetition, random_draw());
  services.metrics.observe_retry_backoff(repetition, delay);
  net::Gate wake(request.client.thread().executor());
  request.client.on_gone([&wake] { wake.open(); });
  if (!request.client.gone()) co_await net::sleep_or_wake(request.client.thread(), wake, delay);
  request.client.on_gone(nullptr);
  co_return !request.client.gone();
}

}  // namespace

GatewayError nobody_left() {
  GatewayError none = fail(ErrorCode::NoAvailableWorkers,
                           "All workers of the model have left since the request began");
  none.retry_after_seconds = 1;  // one may be registered at any time
  return none;
}

void count_unselected(const Services& services, const GatewayError& error) {
  services.metrics.count_upstream_response(error.status(), row(error.code).wire_code);
  if (error.code == ErrorCode::WorkersOverloaded) services.metrics.count_overload_shed("selection");
}

void count_exhausted(const Services& services, const RequestContext& request,
                     std::span<const std::string_view> types) {
  const auto endpoint = facts(request.route).endpoint;
  for (const auto type : types) services.metrics.count_retries_exhausted(type, endpoint);
}

net::Task<Result<>> attempt_until_done(const Services& services, RequestContext& request,
                                       AttemptMaker& maker,
                                       std::span<const std::string_view> types) {
  const auto& retry = services.config.retry;
  const std::uint32_t most = retry.enabled() ? retry.max_attempts : 1;
  for (std::uint32_t number = 1;; ++number) {
    const bool last = number >= most;
    auto step = co_await maker.attempt(last);
    if (step && *step == Step::Answered) co_return Result<>();
    if (!step && (request.client.head_written() || !is_retryable(step.error()))) {
      co_return step.error();
    }
    if (last) {
      count_exhausted(services, request, types);
      co_return step.error();
    }
    const bool waited = co_await back_off(services, request, number);
    if (!waited) co_return fail(ErrorCode::ClientGone);
    const auto endpoint = facts(request.route).endpoint;
    for (const auto type : types) services.metrics.count_retry(type, endpoint);
  }
}

}  // namespace smg::relay
