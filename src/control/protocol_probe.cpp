#include "control/protocol_probe.hpp"

#include <smg/upstream/connect_worker.hpp>

namespace smg::control {
namespace {

constexpr std::size_t kHealthLimit = 1024 * 1024;

using PoolPtr = std::shared_ptr<upstream::HostPool>;

PoolPtr pool_of(const WorkerAddress& address, bool http2) {
  upstream::PoolSettings settings = address.settings;
  settings.http2 = http2;
  return address.pools->find_or_create(address.origin, settings);
}

net::Task<> check_into(CancelScope& scope, PoolPtr pool, HealthQuestion question,
                       Result<>& verdict) {
  verdict = co_await check_health(scope, std::move(pool), std::move(question));
}

net::Task<Result<PoolPtr>> probe_one(CancelScope& scope, PoolPtr pool, HealthQuestion question) {
  auto healthy = co_await check_health(scope, pool, std::move(question));
  if (!healthy) co_return healthy.error();
  co_return pool;
}

net::Task<Result<PoolPtr>> probe_both(CancelScope& scope, const WorkerAddress& address,
                                      const HealthQuestion& question) {
  const PoolPtr http1 = pool_of(address, false);
  const PoolPtr http2 = pool_of(address, true);
  Result<> verdict1;
  Result<> verdict2;
  net::TaskGroup questions(scope.thread().executor());
  questions.spawn(check_into(scope, http1, question, verdict1));
  questions.spawn(check_into(scope, http2, question, verdict2));
  co_await questions.join();
  if (verdict2) {
    http1->retire();
    co_return http2;
  }
  http2->retire();
  if (!verdict1) co_return verdict1.error();
  co_return http1;
}

/// Lets a TLS handshake say which version the worker prefers.
net::Task<Result<PoolPtr>> probe_by_alpn(CancelScope& scope, const WorkerAddress& address,
                                         const HealthQuestion& question) {
  auto connected = co_await scope.connect(*address.pools, address.origin, question.timeout);
  if (!connected) co_return connected.error();
  auto pool = pool_of(address, connected->protocol == "h2");
  connected->stream.reset();
  auto probed = co_await probe_one(scope, std::move(pool), question);
  co_return probed;
}

}  // namespace

VersionChoice version_choice(const WorkerSpec& spec, bool upstream_http2) noexcept {
  if (spec.http_pool && spec.http_pool->http2) {
    return *spec.http_pool->http2 ? VersionChoice::Http2 : VersionChoice::Http1;
  }
  if (spec.url.scheme == "https") return VersionChoice::Alpn;
  return upstream_http2 ? VersionChoice::Both : VersionChoice::Http1;
}

net::Task<Result<PoolPtr>> probe_protocol(CancelScope& scope, const WorkerAddress& address,
                                          const HealthQuestion& question) {
  Result<PoolPtr> chosen = fail(ErrorCode::Internal);
  switch (address.versions) {
    case VersionChoice::Http1:
    case VersionChoice::Http2: {
      auto pool = pool_of(address, address.versions == VersionChoice::Http2);
      chosen = co_await probe_one(scope, std::move(pool), question);
      break;
    }
    case VersionChoice::Both: chosen = co_await probe_both(scope, address, question); break;
    case VersionChoice::Alpn: chosen = co_await probe_by_alpn(scope, address, question); break;
  }
  co_return chosen;
}

net::Task<Result<>> check_health(CancelScope& scope, PoolPtr pool, HealthQuestion question) {
  upstream::FetchRequest request;
  request.target = question.endpoint;
  request.api_key = std::move(question.api_key);
  const auto response =
      co_await scope.fetch(std::move(pool), std::move(request), question.timeout, kHealthLimit);
  if (!response) co_return response.error();
  if (response->ok()) co_return Result<>();
  co_return fail(ErrorCode::UpstreamConnect,
                 "GET " + question.endpoint + " answered " + std::to_string(response->status));
}

}  // namespace smg::control
