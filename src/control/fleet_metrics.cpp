#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
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
using observability::FleetGauge;
using Readings = std::vector<observability::FleetReading>;
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

/// The holders that are still there: a policy forgets those of removed workers in time only.
double count_present(const std::vector<std::uint32_t>& holders, const routing::ModelPool& pool) {
  std::set<std::uint32_t> present;
  for (const auto* worker : pool.workers) present.insert(worker->serial());
  return static_cast<double>(
      std::ranges::count_if(holders, [&](auto serial) { return present.contains(serial); }));
}

/// `sessions`: of all models together.
void read_policy(const std::string& model, const routing::ModelPool& pool, Readings& readings,
                 std::optional<std::size_t>& sessions) {
  const auto memory = pool.policy->memory();
  const auto add = [&](FleetGauge gauge, double value, const char* tree = nullptr) {
    std::vector<std::string> labels{model};
    if (tree != nullptr) labels.emplace_back(tree);
    readings.push_back({gauge, std::move(labels), value});
  };
  if (memory.texts) {
    add(FleetGauge::CacheTreeChars, static_cast<double>(memory.texts->units));
    add(FleetGauge::CacheTreeTenants, count_present(memory.texts->holders, pool), "string");
  }
  if (memory.tokens) {
    add(FleetGauge::CacheTreeTokens, static_cast<double>(memory.tokens->units));
    add(FleetGauge::CacheTreeTenants, count_present(memory.tokens->holders, pool), "token");
  }
  if (memory.placements) {
    add(FleetGauge::CachePlacementEntries, static_cast<double>(*memory.placements));
  }
  if (memory.sessions) sessions = sessions.value_or(0) + *memory.sessions;
}

/// Requests of no model have a policy of their own, which is often not used at all.
bool has_model(const routing::WorkerTable& table, const std::string& model) {
  return !model.empty() || table.model_count() == 0;
}

void read_policies(const routing::WorkerTable& table, Readings& readings) {
  std::optional<std::size_t> sessions;
  for (const auto& [model, pool] : table.pools()) {
    if (has_model(table, model))
      read_policy(model.empty() ? "unknown" : model, pool, readings, sessions);
  }
  if (sessions) {
    readings.push_back({FleetGauge::ManualCacheEntries, {}, static_cast<double>(*sessions)});
  }
}

void read_engine(const routing::Worker& worker, const EngineLoad& load, Readings& readings) {
  for (const auto& rank : share_of(load, worker).ranks) {
    const std::vector<std::string> labels{worker.url(), worker.facts().models.front().id,
                                          std::to_string(rank.dp_rank)};
    const auto add = [&](FleetGauge gauge, double value) {
      readings.push_back({gauge, labels, value});
    };
    add(FleetGauge::EngineRunning, static_cast<double>(rank.num_running_reqs));
    add(FleetGauge::EngineWaiting, static_cast<double>(rank.num_waiting_reqs));
    add(FleetGauge::EngineTokenUsage, rank.token_usage);
    add(FleetGauge::EngineThroughput, rank.gen_throughput);
    add(FleetGauge::EngineHitRate, rank.cache_hit_rate);
  }
}

void show_tallies(const routing::PolicyTallies& tallies, observability::Metrics& metrics) {
  const auto show = [&](std::string_view policy, const auto& names, const auto& tally) {
    using Branch = std::decay_t<decltype(tally.first_kind())>;
    for (std::size_t i = 0; i < std::size(names); ++i) {
      metrics.show_branch(policy, names[i], tally.total(static_cast<Branch>(i)));
    }
  };
  show("cache_aware", routing::kCacheAwareBranches, tallies.cache_aware);
  show("manual", routing::kStickyBranches, tallies.sticky);
  show("prefix_hash", routing::kPrefixHashBranches, tallies.prefix_hash);
  show("consistent_hashing", routing::kConsistentHashingBranches, tallies.consistent_hashing);
  for (std::size_t i = 0; i < std::size(routing::kKeySources); ++i) {
    metrics.show_key_source(routing::kKeySources[i],
                            tallies.key_source.total(static_cast<routing::KeySource>(i)));
  }
  std::array<std::uint64_t, routing::ShareTally::kBuckets> shares{};
  for (std::size_t i = 0; i < shares.size(); ++i) shares[i] = tallies.match_share.total(i);
  metrics.show_match_ratios(shares, tallies.match_share.sum());
}

}  // namespace

void WorkerRegistry::show_metrics() const {
  const auto totals = totals_by_host(pools_);
  Readings readings;
  routing::WorkerTablePtr table;
  {
    const std::lock_guard lock(mutex_);
    table = table_;
    for (const auto& entry : entries_) {
      if (!entry->registered()) continue;
      // The ranks of an engine share its connections: they are shown once.
      show_connections(*entry->workers.front(), totals);
      const EngineLoad* const load = entry->current_load();
      for (const auto& worker : entry->workers) {
        const double keys = worker->active_keys().load(std::memory_order_relaxed);
        readings.push_back({FleetGauge::RoutingKeysActive, {worker->url()}, keys});
        if (load != nullptr) read_engine(*worker, *load, readings);
      }
    }
  }
  if (table) read_policies(*table, readings);
  metrics_.show_fleet(readings);
  show_tallies(tables_->tallies(), metrics_);
}

}  // namespace smg::control
