#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>

#include "control/load_monitor.hpp"
#include "control/table_builder.hpp"
#include "control/worker_entry.hpp"
#include <smg/control/worker_registry.hpp>
#include <smg/routing/selection.hpp>

/// The registry's part in load reports: whose are asked for, and what they add up to.
namespace smg::control {
namespace {

/// Intervals after which a report is too old to route by.
constexpr int kReportsCountFor = 3;

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
  json.begin_object()
      .field("worker", worker.url())
      .field("worker_type", name_of(worker.facts().pd.role));
  write_fields(json, rank);
  json.end_object();
}

void write_rows(JsonWriter& json, const routing::Worker& worker, const EngineLoad& load,
                LoadTotals& totals) {
  for (const auto& rank : load.ranks) {
    write_row(json, worker, rank);
    totals.add(rank);
  }
}

}  // namespace

/// With the lock held.
bool WorkerRegistry::needs_load(const routing::Worker& worker) const {
  if (!config_.load_monitor.disabled || worker.facts().load.overload.any()) return true;
  const auto chosen_by_load = [&](const routing::ModelPool& pool) {
    return reads_loads(*pool.policy) &&
           std::ranges::find(pool.workers, &worker) != pool.workers.end();
  };
  return std::ranges::any_of(table_->pools(),
                             [&](const auto& named) { return chosen_by_load(named.second); }) ||
         std::ranges::any_of(table_->pairs(), [&](const auto& named) {
           return chosen_by_load(named.second.prefill) || chosen_by_load(named.second.decode);
         });
}

/// With the lock held.
void WorkerRegistry::start_load_polls(const EntryPtr& entry) {
  cancel(std::exchange(entry->load_scope, nullptr));
  if (!needs_load(*entry->workers.front())) return;
  entry->load_scope = std::make_shared<CancelScope>(thread_);
  LoadSubject subject{entry->workers.front(), [this, weak = std::weak_ptr(entry)](auto load) {
                        if (const auto asked = weak.lock()) load_polled(*asked, std::move(load));
                      }};
  thread_.post([this, subject, scope = entry->load_scope] {
    if (!stopping_) tasks_.spawn(watch_load(scope, subject));
  });
}

void WorkerRegistry::load_polled(WorkerEntry& entry, std::optional<EngineLoad> load) {
  const std::lock_guard lock(mutex_);
  if (!entry.registered()) return;
  if (load) load_reported(entry, std::move(*load));
  // Without a report too: an old one may have run out.
  show_overloaded();
}

/// With the lock held.
void WorkerRegistry::load_reported(WorkerEntry& entry, EngineLoad load) {
  const auto interval = entry.workers.front()->facts().load.interval;
  entry.load_valid_until = net::Clock::now() + kReportsCountFor * interval;
  for (const auto& worker : entry.workers) {
    const EngineLoad share = share_of(load, *worker);
    if (share.ranks.empty()) continue;
    auto report = report_of(share);
    report.valid_until = entry.load_valid_until;
    worker->board().publish(report);
  }
  entry.load = std::move(load);
}

/// With the lock held. A model's series stays once it is there, as that of its pool size does.
void WorkerRegistry::show_overloaded() {
  std::map<std::string_view, std::uint64_t> counts;
  for (const auto& model : limited_models_) counts[model] = 0;
  const auto now = net::Clock::now();
  for (const auto& worker : table_->workers()) {
    if (!worker->facts().load.overload.any()) continue;
    const std::uint64_t overloaded = routing::is_overloaded(*worker, now) ? 1 : 0;
    for (const auto& model : worker->facts().models) {
      counts[*limited_models_.insert(model.id).first] += overloaded;
    }
  }
  for (const auto& [model, count] : counts) metrics_.set_workers_overloaded(model, count);
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
        write_rows(rows, *worker, share_of(*load, *worker), totals);
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
