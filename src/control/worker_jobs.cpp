#include <algorithm>
#include <utility>

#include "control/table_builder.hpp"
#include "control/worker_entry.hpp"
#include "control/worker_probe.hpp"
#include <smg/base/uuid.hpp>
#include <smg/control/worker_registry.hpp>
#include <smg/observability/log.hpp>

/// The registry's jobs: what happens on io thread 0 after a change has been accepted.
namespace smg::control {
namespace {

using routing::WorkerStatus;

constexpr net::Duration kDrainPoll = std::chrono::milliseconds(20);
/// The patience with a worker that was registered before this process began.
constexpr net::Duration kForEver = std::chrono::hours(24L * 365 * 30);
const WorkerSpec& spec_to_register(const WorkerEntry& entry) {
  return entry.next_spec ? *entry.next_spec : entry.spec;
}

ProbeSettings probe_settings(const WorkerSpec& spec, const config::GatewayConfig& config,
                             upstream::PoolDirectory& pools) {
  const config::Health health = health_settings(spec, config.health);
  ProbeSettings settings;
  settings.address = {&pools, origin_of(spec.url), pool_settings(spec, config.upstream),
                      version_choice(spec, config.upstream.http2)};
  settings.health = {health.endpoint, key_for(spec, config.access), health.timeout};
  settings.startup_delay = config.fleet.startup_delay;
  settings.longest_pause = config.fleet.startup_check_interval;
  settings.startup_timeout = config.fleet.startup_timeout;
  settings.detect_runtime = spec.runtime_type.empty();
  return settings;
}

}  // namespace

net::Task<> WorkerRegistry::run_registration(EntryPtr entry, ScopePtr scope) {
  ProbeSettings settings;
  {
    const std::lock_guard lock(mutex_);
    settings = probe_settings(spec_to_register(*entry), config_, pools_);
    if (entry->restored && !entry->registered()) settings.startup_timeout = kForEver;
  }
  auto probed = co_await probe_worker(*scope, settings);
  const std::lock_guard lock(mutex_);
  // Another scope or none: the job has been cancelled, even if the word has not got here yet.
  const bool cancelled = scope->cancelled() || entry->job_scope != scope;
  if (!cancelled) {
    entry->job_scope.reset();
    if (probed) {
      registered(entry, *probed);
    } else {
      not_registered(*entry, std::move(probed.error().message));
    }
  }
  // What has been opened for questions only does not stay open.
  if (probed && (!entry->registered() || entry->workers.front()->shared_pool() != probed->pool)) {
    probed->pool->retire();
  }
}

/// The facts of the workers that an engine makes; ranks keep their ids when it registers again.
std::vector<routing::WorkerFacts> WorkerRegistry::facts_of(WorkerEntry& entry, std::uint32_t ranks,
                                                           bool http2) const {
  while (entry.rank_ids.size() + 1 < ranks) entry.rank_ids.push_back(make_uuid());
  routing::WorkerFacts engine = worker_facts(entry.id, entry.spec, entry.discovered, config_);
  engine.http2 = http2;
  std::vector<routing::WorkerFacts> facts(ranks, engine);
  for (std::uint32_t rank = 0; ranks > 1 && rank < ranks; ++rank) {
    become_rank(facts[rank], rank == 0 ? entry.id : entry.rank_ids[rank - 1], rank, ranks);
  }
  return facts;
}

void WorkerRegistry::registered(const EntryPtr& entry, const ProbedWorker& probed) {
  if (entry->next_spec) entry->spec = std::move(*std::exchange(entry->next_spec, std::nullopt));
  entry->discovered = probed.discovered;
  entry->load.reset();
  const auto& pool = probed.pool;
  const bool http2 = pool->settings().http2 && !pool->origin().tls;
  const auto former = entry->workers;
  std::vector<routing::WorkerPtr> workers;
  for (auto& facts : facts_of(*entry, rank_count(entry->discovered, config_.fleet), http2)) {
    const auto rank = workers.size();
    const routing::Worker* const predecessor = rank < former.size() ? former[rank].get() : nullptr;
    auto series = metrics_.open_worker_series(facts.url);
    series->set_http2(http2);
    workers.push_back(
        std::make_shared<routing::Worker>(std::move(facts), pool, std::move(series), predecessor));
    workers.back()->set_status(WorkerStatus::Ready);
  }
  if (config_.upstream.http2) {
    observability::log_info("resolved worker HTTP version",
                            {{"worker", entry->url()}, {"http2", http2}});
  }
  entry->job.reset();
  if (entry->kept) keep(*entry);
  install(*entry, std::move(workers));
  for (const auto& worker : former) worker->series().retire();
  start_health_checks(entry);
  start_load_polls(entry);
  if (!former.empty() && former.front()->shared_pool() != pool) former.front()->pool().retire();
  const auto& facts = entry->workers.front()->facts();
  observability::log_info("worker registered", {{"worker", entry->url()},
                                                {"id", entry->id},
                                                {"model", facts.models.front().id},
                                                {"runtime", facts.runtime_type},
                                                {"ranks", entry->workers.size()}});
}

void WorkerRegistry::not_registered(WorkerEntry& entry, std::string reason) {
  observability::log_warn("worker registration failed",
                          {{"worker", entry.url()}, {"id", entry.id}, {"reason", reason}});
  entry.next_spec.reset();
  if (entry.kept) keep(entry);
  entry.job->state = JobState::Failed;
  entry.job->message = "The worker did not become healthy: " + std::move(reason);
  entry.job->failed_at = net::Clock::now();
}

net::Task<> WorkerRegistry::run_removal(EntryPtr entry, ScopePtr scope) {
  std::vector<routing::WorkerPtr> workers;
  {
    const std::lock_guard lock(mutex_);
    workers = entry->workers;
  }
  const auto busy = [](const routing::WorkerPtr& worker) { return worker->load() > 0; };
  const auto latest = net::Clock::now() + workers.front()->facts().drain_settle;
  while (std::ranges::any_of(workers, busy) && net::Clock::now() < latest && !scope->cancelled()) {
    co_await scope->sleep(kDrainPoll);
  }
  if (!scope->cancelled()) drop(entry);
}

void WorkerRegistry::drop(const EntryPtr& entry) {
  const std::lock_guard lock(mutex_);
  std::erase(entries_, entry);
  const auto workers = std::exchange(entry->workers, {});
  publish();
  for (const auto& worker : workers) worker->series().retire();
  workers.front()->pool().retire();
  observability::log_info("worker removed", {{"worker", entry->url()}, {"id", entry->id}});
}

void WorkerRegistry::health_changed(const EntryPtr& entry, WorkerStatus status) {
  const std::lock_guard lock(mutex_);
  if (!entry->registered() || entry->status() == WorkerStatus::Draining) return;
  entry->set_status(status);
  observability::log_info(
      "worker health changed",
      {{"worker", entry->url()}, {"id", entry->id}, {"status", routing::name_of(status)}});
  if (status == WorkerStatus::Failed && config_.health.remove_unhealthy.value_or(false))
    start_removal(entry);
}

}  // namespace smg::control
