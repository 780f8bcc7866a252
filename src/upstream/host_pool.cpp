#include <algorithm>
#include <map>

#include <unistd.h>

#include "upstream/h1_upstream_connection.hpp"
#include "upstream/h2_exchange.hpp"
#include <smg/net/tcp_stream.hpp>
#include <smg/upstream/connect_worker.hpp>
#include <smg/upstream/host_pool.hpp>

namespace smg::upstream {
namespace {

/// HTTP/2 connections live on one thread for each host; which one is all the same, as long as they
/// spread.
std::shared_ptr<H2Hub> make_hub(net::IoThreads& threads, net::TlsClient& tls, const Origin& origin,
                                const PoolSettings& settings) {
  if (!settings.http2) return nullptr;
  const std::size_t home = std::hash<std::string>{}(origin.authority) % threads.size();
  return std::make_shared<H2Hub>(threads[home], tls, origin, settings);
}

}  // namespace

HostPool::HostPool(net::IoThreads& threads, net::TlsClient& tls, Origin origin,
                   PoolSettings settings)
    : threads_(threads),
      tls_(tls),
      origin_(std::move(origin)),
      settings_(settings),
      shards_(threads.size()),
      h2_(make_hub(threads, tls, origin_, settings_)) {}

HostPool::~HostPool() {
  if (h2_) h2_->run_at_home([hub = h2_] { hub->retire(); });
}

net::Task<Result<UpstreamExchangePtr>> HostPool::open(net::IoThread& thread,
                                                      net::AbortSwitch& abort, Reuse reuse) {
  if (h2_ || reuse == Reuse::Yes) {
    if (auto ready = try_open(thread)) co_return ready;
  }
  Connection connection;
  if (reuse == Reuse::Yes && idle_total_.load(std::memory_order_relaxed) > 0) {
    connection = co_await take_over(thread, abort);
  }
  if (!connection) {
    auto connected = co_await connect_worker(thread, tls_, origin_, Offer::Http1,
                                             settings_.connect_timeout, abort);
    if (!connected) co_return connected.error();
    connection = std::make_unique<H1UpstreamConnection>(shared_from_this(), thread,
                                                        std::move(connected->stream));
  }
  connection->begin();
  co_return UpstreamExchangePtr(connection.release());
}

UpstreamExchangePtr HostPool::try_open(net::IoThread& thread) {
  if (h2_) return UpstreamExchangePtr(new H2Exchange(h2_, thread));
  Connection connection = take_idle(thread);
  if (connection) connection->begin();
  return UpstreamExchangePtr(connection.release());
}

HostPool::Connection HostPool::remove(Shard& shard, std::size_t index) {
  Connection connection = std::move(shard.idle[index]);
  shard.idle.erase(shard.idle.begin() + static_cast<std::ptrdiff_t>(index));
  shard.count.store(shard.idle.size(), std::memory_order_relaxed);
  idle_total_.fetch_sub(1, std::memory_order_relaxed);
  return connection;
}

HostPool::Connection HostPool::take_idle(net::IoThread& thread) {
  Shard& shard = shards_[thread.index()];
  while (!shard.idle.empty()) {
    Connection connection = remove(shard, shard.idle.size() - 1);
    // Its loop may not have come round yet to notice what the worker did meanwhile.
    if (connection->is_quiet()) return connection;
  }
  return nullptr;
}

/// Asks the other threads, one after the other, for an idle connection's descriptor.
net::Task<HostPool::Connection> HostPool::take_over(net::IoThread& thread,
                                                    net::AbortSwitch& abort) {
  struct Reply {
    explicit Reply(net::Executor executor) : gate(executor) {}
    Reply(const Reply&) = delete;
    Reply& operator=(const Reply&) = delete;
    ~Reply() {
      if (descriptor >= 0) ::close(descriptor);  // it came for one who had given up
    }
    net::Gate gate;
    int descriptor = -1;
  };
  for (std::size_t i = 0; i < shards_.size() && !abort.aborted(); ++i) {
    // A TLS connection cannot leave its thread.
    if (origin_.tls || i == thread.index() || shards_[i].count.load(std::memory_order_relaxed) == 0)
      continue;
    const auto reply = std::make_shared<Reply>(thread.executor());
    net::IoThread& owner = threads_[i];
    owner.post([self = shared_from_this(), &owner, &thread, reply] {
      const Connection idle = self->take_idle(owner);
      const int descriptor = idle ? idle->release_descriptor() : -1;
      thread.post([reply, descriptor] {
        reply->descriptor = descriptor;
        reply->gate.open_and_resume();
      });
    });
    co_await net::wait_or_abort(reply->gate, abort);
    if (reply->descriptor < 0 || abort.aborted()) continue;
    if (auto stream = net::adopt_tcp(thread, std::exchange(reply->descriptor, -1))) {
      co_return std::make_unique<H1UpstreamConnection>(shared_from_this(), thread,
                                                       std::move(stream));
    }
  }
  co_return nullptr;
}

void HostPool::put_back(Connection connection) {
  if (retired_.load(std::memory_order_relaxed) ||
      idle_total_.load(std::memory_order_relaxed) >= settings_.max_idle) {
    return;
  }
  Shard& shard = shards_[connection->thread().index()];
  connection->become_idle(settings_.idle_timeout);
  shard.idle.push_back(std::move(connection));
  shard.count.store(shard.idle.size(), std::memory_order_relaxed);
  idle_total_.fetch_add(1, std::memory_order_relaxed);
}

void HostPool::drop_idle(H1UpstreamConnection& connection) {
  Shard& shard = shards_[connection.thread().index()];
  const auto found =
      std::find_if(shard.idle.begin(), shard.idle.end(),
                   [&](const Connection& idle) { return idle.get() == &connection; });
  if (found == shard.idle.end()) return;
  const auto index = static_cast<std::size_t>(found - shard.idle.begin());
  // Runs below a callback of the connection: it goes once that has returned.
  connection.thread().post(
      [dropped = std::shared_ptr<H1UpstreamConnection>(remove(shard, index))] {});
}

void HostPool::close_all_idle(net::IoThread& thread) {
  while (take_idle(thread)) {
  }
}

void HostPool::retire() {
  retired_.store(true, std::memory_order_relaxed);
  if (h2_) h2_->run_at_home([hub = h2_] { hub->retire(); });
  threads_.post_to_all(
      [self = shared_from_this()](net::IoThread& thread) { self->close_all_idle(thread); });
}

void HostPool::count_open(net::IoThread& thread, std::ptrdiff_t change) noexcept {
  auto& open = shards_[thread.index()].open;
  // One writer: no locked instruction is needed.
  open.store(open.load(std::memory_order_relaxed) + static_cast<std::size_t>(change),
             std::memory_order_relaxed);
}

ConnectionTotals HostPool::totals() const noexcept {
  if (h2_) return h2_->totals();
  ConnectionTotals totals;
  for (const Shard& shard : shards_) {
    const std::size_t idle = shard.count.load(std::memory_order_relaxed);
    const std::size_t open = shard.open.load(std::memory_order_relaxed);
    totals += {idle, open - std::min(idle, open)};
  }
  return totals;
}

std::shared_ptr<HostPool> PoolDirectory::find_or_create(const Origin& origin,
                                                        const PoolSettings& settings) {
  const std::lock_guard lock(mutex_);
  std::erase_if(pools_, [](const auto& pool) { return pool.expired(); });
  for (const auto& candidate : pools_) {
    auto pool = candidate.lock();
    if (pool && !pool->retired() && pool->origin() == origin && pool->settings() == settings) {
      return pool;
    }
  }
  auto pool = std::make_shared<HostPool>(threads_, tls_, origin, settings);
  pools_.push_back(pool);
  return pool;
}

std::vector<PoolDirectory::HostTotals> PoolDirectory::totals() const {
  std::map<std::pair<bool, std::string>, HostTotals> by_host;
  const std::lock_guard lock(mutex_);
  for (const auto& candidate : pools_) {
    const auto pool = candidate.lock();
    if (!pool) continue;
    auto& host = by_host[{pool->origin().tls, pool->origin().authority}];
    host.origin = pool->origin();
    (pool->settings().http2 ? host.http2 : host.http1) += pool->totals();
  }
  std::vector<HostTotals> all;
  all.reserve(by_host.size());
  for (auto& [key, totals] : by_host) all.push_back(std::move(totals));
  return all;
}

void PoolDirectory::retire_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& candidate : pools_) {
    if (auto pool = candidate.lock()) pool->retire();
  }
}

}  // namespace smg::upstream
