#include <map>
#include <utility>

#include "control/table_builder.hpp"
#include "control/worker_entry.hpp"
#include <smg/control/worker_registry.hpp>

/// The registry's part in a scrape: what is read off the fleet instead of being counted.
namespace smg::control {
namespace {

using observability::ConnectionCounts;
using observability::UpstreamProtocol;
using HostTotals = upstream::PoolDirectory::HostTotals;
using TotalsByHost = std::map<std::pair<bool, std::string>, HostTotals>;

TotalsByHost totals_by_host(const upstream::PoolDirectory& pools) {
  TotalsByHost by_host;
  for (auto& host : pools.totals()) {
    auto key = std::make_pair(host.origin.tls, host.origin.authority);
    by_host.emplace(std::move(key), std::move(host));
  }
  return by_host;
}

/// The other protocol shows only while, or after, a worker had it: it changes with its settings.
void show_connections(const routing::Worker& worker, const TotalsByHost& totals) {
  const auto& pool = worker.pool();
  const auto host = totals.find({pool.origin().tls, pool.origin().authority});
  if (host == totals.end()) return;
  const auto show = [&](UpstreamProtocol protocol, const upstream::ConnectionTotals& open,
                        bool is_own) {
    const ConnectionCounts counts{open.idle, open.in_use};
    worker.series().set_connections(protocol, counts, is_own);
  };
  show(UpstreamProtocol::Http1, host->second.http1, !pool.settings().http2);
  show(UpstreamProtocol::Http2, host->second.http2, pool.settings().http2);
}

}  // namespace

void WorkerRegistry::show_metrics() const {
  const auto totals = totals_by_host(pools_);
  const std::lock_guard lock(mutex_);
  for (const auto& entry : entries_) {
    // The ranks of an engine share its connections: they are shown once.
    if (entry->registered()) show_connections(*entry->workers.front(), totals);
  }
}

}  // namespace smg::control
