#include "control/cancel_scope.hpp"

#include <utility>

#include <smg/upstream/connect_worker.hpp>

namespace smg::control {

void CancelScope::cancel() {
  if (std::exchange(cancelled_, true)) return;
  // The waits end from the event loop, so neither list changes meanwhile.
  for (auto* abort : fetching_) abort->abort();
  for (auto* gate : sleeping_) gate->open();
}

net::Task<Result<upstream::FetchedResponse>> CancelScope::fetch(
    std::shared_ptr<upstream::HostPool> pool, upstream::FetchRequest request, net::Duration timeout,
    std::size_t limit) {
  if (cancelled_) co_return fail(ErrorCode::Aborted);
  net::AbortSwitch abort;
  fetching_.push_back(&abort);
  auto response =
      co_await upstream::fetch(thread_, std::move(pool), std::move(request), timeout, limit, abort);
  std::erase(fetching_, &abort);
  co_return response;
}

net::Task<Result<upstream::FetchedResponse>> CancelScope::fetch_stream(
    std::shared_ptr<upstream::HostPool> pool, upstream::FetchRequest request, net::Duration silence,
    std::size_t limit, upstream::TakePiece take) {
  if (cancelled_) co_return fail(ErrorCode::Aborted);
  net::AbortSwitch abort;
  fetching_.push_back(&abort);
  auto response = co_await upstream::fetch_stream(thread_, std::move(pool), std::move(request),
                                                  silence, limit, std::move(take), abort);
  std::erase(fetching_, &abort);
  co_return response;
}

net::Task<Result<net::TlsClient::Connected>> CancelScope::connect(upstream::PoolDirectory& pools,
                                                                  upstream::Origin origin,
                                                                  net::Duration timeout) {
  if (cancelled_) co_return fail(ErrorCode::Aborted);
  net::AbortSwitch abort;
  fetching_.push_back(&abort);
  auto connected = co_await upstream::connect_worker(thread_, pools.tls(), std::move(origin),
                                                     upstream::Offer::Either, timeout, abort);
  std::erase(fetching_, &abort);
  co_return connected;
}

net::Task<> CancelScope::sleep(net::Duration duration) {
  if (cancelled_) co_return;
  net::Gate gate(thread_.executor());
  sleeping_.push_back(&gate);
  co_await net::sleep_or_wake(thread_, gate, duration);
  std::erase(sleeping_, &gate);
}

}  // namespace smg::control
