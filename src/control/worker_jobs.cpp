#include <utility>

#include "control/table_builder.hpp"
#include "control/worker_entry.hpp"
#include "control/worker_probe.hpp"
#include <smg/control/worker_registry.hpp>
#include <smg/observability/log.hpp>

/// The registry's jobs: what happens on io thread 0 after a change has been accepted.
namespace smg::control {
namespace {

using routing::WorkerStatus;

constexpr net::Duration kDrainPoll = std::chrono::milliseconds(20);

const WorkerSpec& spec_to_register(const WorkerEntry& entry) {
  return entry.next_spec ? *entry.next_spec : entry.spec;
}

ProbeSettings probe_settings(const WorkerSpec& spec, const config::GatewayConfig& config,
                             upstream::PoolDirectory& pools) {
  const config::Health health = health_settings(spec, config.health);
  ProbeSettings settings;
  settings.address = {&pools, origin_of(spec.url), pool_settings(spec, config.upstream),
                      version_choice(spec, config.upstream.http2)};
  settings.health = {health.endpoint, spec.api_key, health.timeout};
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
  if (probed && (!entry->worker || entry->worker->shared_pool() != probed->pool)) {
    probed->pool->retire();
  }
}

void WorkerRegistry::registered(const EntryPtr& entry, const ProbedWorker& probed) {
  if (entry->next_spec) entry->spec = std::move(*std::exchange(entry->next_spec, std::nullopt));
  entry->discovered = probed.discovered;
  const auto& pool = probed.pool;
  auto facts = worker_facts(entry->id, entry->spec, entry->discovered, config_);
  facts.http2 = pool->settings().http2 && !pool->origin().tls;
  auto series = metrics_.open_worker_series(entry->url());
  series->set_http2(facts.http2);
  const auto worker = std::make_shared<routing::Worker>(std::move(facts), pool, std::move(series));
  worker->set_status(WorkerStatus::Ready);
  if (config_.upstream.http2) {
    observability::log_info("resolved worker HTTP version",
                            {{"worker", entry->url()}, {"http2", worker->facts().http2}});
  }
  entry->job.reset();
  const auto former = entry->worker;
  install(*entry, worker);
  start_health_checks(entry);
  if (former && former->shared_pool() != pool) former->pool().retire();
  observability::log_info("worker registered", {{"worker", entry->url()},
                                                {"id", entry->id},
                                                {"model", worker->facts().models.front().id},
                                                {"runtime", worker->facts().runtime_type}});
}

void WorkerRegistry::not_registered(WorkerEntry& entry, std::string reason) {
  observability::log_warn("worker registration failed",
                          {{"worker", entry.url()}, {"id", entry.id}, {"reason", reason}});
  entry.next_spec.reset();
  entry.job->state = JobState::Failed;
  entry.job->message = "The worker did not become healthy: " + std::move(reason);
  entry.job->failed_at = net::Clock::now();
}

net::Task<> WorkerRegistry::run_removal(EntryPtr entry, ScopePtr scope) {
  routing::WorkerPtr worker;
  {
    const std::lock_guard lock(mutex_);
    worker = entry->worker;
  }
  const auto latest = net::Clock::now() + worker->facts().drain_settle;
  while (worker->load() > 0 && net::Clock::now() < latest && !scope->cancelled()) {
    co_await scope->sleep(kDrainPoll);
  }
  if (!scope->cancelled()) drop(entry);
}

void WorkerRegistry::drop(const EntryPtr& entry) {
  const std::lock_guard lock(mutex_);
  std::erase(entries_, entry);
  const auto worker = std::exchange(entry->worker, nullptr);
  publish();
  worker->pool().retire();
  observability::log_info("worker removed", {{"worker", entry->url()}, {"id", entry->id}});
}

void WorkerRegistry::health_changed(const EntryPtr& entry, WorkerStatus status) {
  const std::lock_guard lock(mutex_);
  if (!entry->worker || entry->status() == WorkerStatus::Draining) return;
  entry->worker->set_status(status);
  observability::log_info(
      "worker health changed",
      {{"worker", entry->url()}, {"id", entry->id}, {"status", routing::name_of(status)}});
  if (status == WorkerStatus::Failed && config_.health.remove_unhealthy) start_removal(entry);
}

}  // namespace smg::control
