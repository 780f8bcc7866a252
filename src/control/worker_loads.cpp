#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

#include "control/load_monitor.hpp"
#include "control/table_builder.hpp"
#include "control/worker_entry.hpp"
#include <smg/control/worker_registry.hpp>

/// The registry's part in load reports: whose are asked for, and what they add up to.
namespace smg::control {
namespace {

/// The policies that read load reports.
bool reads_loads(const routing::Policy& policy) {
  constexpr std::array<std::string_view, 3> kNames{"cache_aware", "least_load", "power_of_two"};
  return std::ranges::find(kNames, policy.name()) != kNames.end();
}

std::string utc_now() {
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S+00:00", &parts));
}

void write_row(JsonWriter& json, const routing::Worker& worker, const RankLoad& rank) {
  json.begin_object().field("worker", worker.url()).field("worker_type", "regular");
  write_fields(json, rank);
  json.end_object();
}

}  // namespace

/// With the lock held.
bool WorkerRegistry::needs_load(const routing::Worker& worker) const {
  if (!config_.load_monitor.disabled || worker.facts().load.overload.any()) return true;
  const auto& pools = table_->pools();
  return std::ranges::any_of(pools, [&](const auto& named) {
    const auto& workers = named.second.workers;
    return reads_loads(*named.second.policy) &&
           std::ranges::find(workers, &worker) != workers.end();
  });
}

/// With the lock held.
void WorkerRegistry::start_load_polls(const EntryPtr& entry) {
  cancel(std::exchange(entry->load_scope, nullptr));
  if (!needs_load(*entry->workers.front())) return;
  entry->load_scope = std::make_shared<CancelScope>(thread_);
  LoadSubject subject{entry->workers.front(), [this, weak = std::weak_ptr(entry)](EngineLoad load) {
                        if (const auto asked = weak.lock()) load_reported(*asked, std::move(load));
                      }};
  thread_.post([this, subject, scope = entry->load_scope] {
    if (!stopping_) tasks_.spawn(watch_load(scope, subject));
  });
}

std::string WorkerRegistry::describe_loads() const {
  LoadTotals totals;
  JsonWriter rows;
  rows.begin_array();
  {
    const std::lock_guard lock(mutex_);
    for (const auto& entry : entries_) {
      const EngineLoad* const load = entry->current_load();
      if (load == nullptr) continue;
      for (const auto& worker : entry->workers) {
        for (const auto& rank : share_of(*load, *worker).ranks) {
          write_row(rows, *worker, rank);
          totals.add(rank);
        }
      }
    }
  }
  JsonWriter json;
  json.begin_object().field("timestamp", utc_now()).field("version", "smg-" SMG_VERSION);
  json.field("dp_rank_count", totals.rows()).key("loads").raw(rows.end_array().take());
  if (totals.rows() > 0) totals.write(json);
  json.end_object();
  return json.take();
}

}  // namespace smg::control
