#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "control/health_monitor.hpp"
#include "control/load_monitor.hpp"
#include "control/pod_fleet.hpp"
#include "control/state_file.hpp"
#include "control/table_builder.hpp"
#include "control/worker_entry.hpp"
#include "control/worker_json.hpp"
#include <smg/base/uuid.hpp>
#include <smg/control/worker_registry.hpp>
#include <smg/observability/log.hpp>

namespace smg::control {
namespace {

using routing::WorkerStatus;

constexpr auto kFailuresAreKept = std::chrono::minutes(5);

Job new_job(JobType type) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  Job job;
  job.type = type;
  job.timestamp = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  return job;
}

bool is_open(const WorkerEntry& entry) {
  return entry.job && entry.job->state == JobState::Processing;
}

bool has_failed(const WorkerEntry& entry) {
  return entry.job && entry.job->state == JobState::Failed;
}

bool serves(const routing::Worker& worker, std::string_view model) {
  return std::ranges::any_of(worker.facts().models, [&](const routing::ServedModel& served) {
    return served.id == model || std::ranges::find(served.aliases, model) != served.aliases.end();
  });
}

/// The workers that flags name, in the order of the flags.
std::vector<WorkerSpec> specs_of_flags(const config::GatewayConfig& config) {
  std::vector<WorkerSpec> specs;
  const auto add = [&](const std::string& text, routing::WorkerRole role,
                       std::optional<std::uint16_t> bootstrap_port = {}) {
    auto url = config::parse_worker_url(text);
    if (!url || (url->scheme != "http" && url->scheme != "https")) {
      observability::log_error("a worker's URL cannot be used",
                               {{"worker", config::without_user_info(text)}});
      return;
    }
    WorkerSpec& spec = specs.emplace_back();
    spec.url = std::move(*url);
    spec.role = role;
    spec.bootstrap_port = bootstrap_port;
  };
  for (const auto& url : config.fleet.worker_urls) add(url, routing::WorkerRole::Regular);
  for (const auto& [url, port] : config.modes.prefill) add(url, routing::WorkerRole::Prefill, port);
  for (const auto& url : config.modes.decode) add(url, routing::WorkerRole::Decode);
  return specs;
}

ControlError not_found(std::string_view id) {
  return {404, "WORKER_NOT_FOUND", "Worker " + std::string(id) + " not found"};
}

ControlError busy(const WorkerEntry& entry) {
  return {409, "WORKER_BUSY", "Another change of worker " + entry.id + " is in progress"};
}

}  // namespace

WorkerRegistry::WorkerRegistry(const config::GatewayConfig& config, observability::Metrics& metrics,
                               net::IoThreads& threads, upstream::PoolDirectory& pools,
                               relay::FleetView& fleet)
    : config_(config),
      metrics_(metrics),
      thread_(threads[0]),
      pools_(pools),
      fleet_(fleet),
      tables_(std::make_unique<TableBuilder>(config)),
      tasks_(thread_.executor()) {
  const std::string& file = config.fleet.state_file;
  if (file.empty()) return;
  saved_ = load_state(file);
  state_ = std::make_unique<StateFile>(file, [this] { return kept_workers(); });
}

WorkerRegistry::~WorkerRegistry() = default;

void WorkerRegistry::start() {
  // Until all are in the list: a state file that is written meanwhile must lack none.
  const std::lock_guard lock(mutex_);
  auto saved = std::exchange(saved_, {});
  for (auto& spec : specs_of_flags(config_)) {
    const auto same = std::ranges::find_if(
        saved, [&](const SavedWorker& w) { return w.spec.url.text == spec.url.text; });
    if (same == saved.end()) {
      add_from_flags(std::move(spec));
    } else {
      restore(std::move(*same));
      saved.erase(same);
    }
  }
  for (auto& worker : saved) restore(std::move(worker));
}

void WorkerRegistry::add_from_flags(WorkerSpec spec) {
  if (const auto refusal = why_not_now(spec.url.text)) {
    observability::log_error("a worker cannot be added", {{"reason", refusal->message}});
    return;
  }
  start_registration(new_entry(std::move(spec)));
}

/// Whatever --job-queue-capacity says: it was accepted before.
void WorkerRegistry::restore(SavedWorker saved) {
  const EntryPtr entry = new_entry(std::move(saved.spec));
  entry->id = std::move(saved.ids.front());
  entry->rank_ids.assign(std::next(saved.ids.begin()), saved.ids.end());
  entry->kept = entry->restored = true;
  start_registration(entry);
}

net::Task<> WorkerRegistry::stop() {
  stopping_ = true;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& entry : entries_) {
      if (entry->job_scope) entry->job_scope->cancel();
      if (entry->health_scope) entry->health_scope->cancel();
      if (entry->load_scope) entry->load_scope->cancel();
    }
  }
  co_await tasks_.join();
}

// ---- changes ------------------------------------------------------------------------------------

ControlResult<WorkerRegistry::Accepted> WorkerRegistry::add(WorkerSpec spec) {
  const std::lock_guard lock(mutex_);
  forget_old_failures();
  if (auto refusal = why_not_now(spec.url.text)) return std::move(*refusal);
  const EntryPtr entry = new_entry(std::move(spec));
  keep(*entry);
  start_registration(entry);
  return Accepted{entry->id, entry->url()};
}

ControlResult<WorkerRegistry::Accepted> WorkerRegistry::replace(std::string_view id,
                                                                WorkerSpec spec) {
  const std::lock_guard lock(mutex_);
  const EntryPtr entry = find(id);
  if (!entry) return not_found(id);
  if (spec.url.text != entry->url()) {
    return bad_request("URL mismatch: worker " + entry->id + " has the URL " + entry->url());
  }
  if (entry->workers.size() > 1) {
    return bad_request("Worker " + std::string(id) +
                       " belongs to a data-parallel group. PUT is not supported for its ranks: "
                       "DELETE the group and add it again");
  }
  if (is_open(*entry)) return busy(*entry);
  if (!spec.pod) spec.pod = entry->spec.pod;
  entry->next_spec = std::move(spec);
  keep(*entry);
  entry->job = new_job(entry->registered() ? JobType::UpdateWorker : JobType::AddWorker);
  start_registration(entry);
  return Accepted{std::string(id), entry->url()};
}

ControlResult<WorkerRegistry::Accepted> WorkerRegistry::change(std::string_view id,
                                                               const WorkerPatch& patch) {
  const std::lock_guard lock(mutex_);
  const EntryPtr entry = find(id);
  if (!entry) return not_found(id);
  patch.apply_to(entry->spec);
  if (entry->next_spec) patch.apply_to(*entry->next_spec);
  keep(*entry);
  if (entry->registered()) {
    const auto ranks = static_cast<std::uint32_t>(entry->workers.size());
    auto facts = facts_of(*entry, ranks, entry->workers.front()->facts().http2);
    std::vector<routing::WorkerPtr> workers;
    workers.reserve(facts.size());
    for (std::size_t i = 0; i < facts.size(); ++i) {
      workers.push_back(std::make_shared<routing::Worker>(std::move(facts[i]), *entry->workers[i]));
    }
    install(*entry, std::move(workers));
    const bool other_checks = patch.health || patch.api_key;
    if (other_checks && entry->status() != WorkerStatus::Draining) {
      start_health_checks(entry);
      start_load_polls(entry);
    }
  }
  return Accepted{std::string(id), entry->url()};
}

ControlResult<WorkerRegistry::Accepted> WorkerRegistry::remove(std::string_view id) {
  const std::lock_guard lock(mutex_);
  const EntryPtr entry = find(id);
  if (!entry) return not_found(id);
  if (!entry->registered()) {
    cancel(std::exchange(entry->job_scope, nullptr));
    std::erase(entries_, entry);
    if (state_) state_->changed();
  } else if (entry->status() != WorkerStatus::Draining) {
    start_removal(entry);
  }
  return Accepted{std::string(id), entry->url()};
}

net::Task<> WorkerRegistry::saved(net::IoThread& thread) {
  if (!state_) co_return;
  const auto written = std::make_shared<net::Gate>(thread.executor());
  state_->when_written([&thread, written] { thread.post([written] { written->open(); }); });
  co_await written->wait();
}

// ---- what the list says -------------------------------------------------------------------------

std::optional<std::string> WorkerRegistry::describe(std::string_view id) {
  const std::lock_guard lock(mutex_);
  forget_old_failures();
  const EntryPtr entry = find(id);
  if (!entry) return std::nullopt;
  JsonWriter json;
  write_worker(json, *entry, entry->worker_of(id), config_.fleet);
  return json.take();
}

std::string WorkerRegistry::describe_all(std::optional<std::string_view> model) {
  const std::lock_guard lock(mutex_);
  JsonWriter json;
  std::array<std::size_t, routing::kWorkerRoles.size()> counts{};
  json.begin_object().key("workers").begin_array();
  for (const auto& entry : entries_) {
    for (const auto& worker : entry->workers) {
      if (model && !serves(*worker, *model)) continue;
      write_worker(json, *entry, worker.get(), config_.fleet);
      ++counts[static_cast<std::size_t>(worker->facts().pd.role)];
    }
  }
  const auto [regular, prefill, decode] = counts;
  json.end_array().field("total", regular + prefill + decode).key("stats").begin_object();
  json.field("prefill_count", prefill).field("decode_count", decode);
  json.field("regular_count", regular);
  json.end_object().end_object();
  return json.take();
}

std::vector<routing::WorkerPtr> WorkerRegistry::workers() const {
  const std::lock_guard lock(mutex_);
  std::vector<routing::WorkerPtr> workers;
  for (const auto& entry : entries_) {
    workers.insert(workers.end(), entry->workers.begin(), entry->workers.end());
  }
  return workers;
}

std::vector<routing::WorkerPtr> WorkerRegistry::engines() const {
  const std::lock_guard lock(mutex_);
  std::vector<routing::WorkerPtr> engines;
  for (const auto& entry : entries_) {
    if (entry->registered()) engines.push_back(entry->workers.front());
  }
  return engines;
}

std::vector<PodWorker> WorkerRegistry::pod_workers() const {
  const std::lock_guard lock(mutex_);
  std::vector<PodWorker> workers;
  for (const auto& entry : entries_) {
    const auto& pod = entry->next_spec ? entry->next_spec->pod : entry->spec.pod;
    if (!pod) continue;
    const auto status = entry->status();
    workers.push_back({entry->id, entry->url(), *pod, status == WorkerStatus::Draining,
                       !entry->registered() && status == WorkerStatus::Failed});
  }
  return workers;
}

std::vector<std::string> WorkerRegistry::models() const {
  std::vector<std::string> ids;
  for (const auto& worker : workers()) {
    for (const auto& model : worker->facts().models) {
      if (std::ranges::find(ids, model.id) == ids.end()) ids.push_back(model.id);
    }
  }
  return ids;
}

/// Called by the state file's thread.
std::vector<SavedWorker> WorkerRegistry::kept_workers() const {
  std::vector<SavedWorker> kept = saved_;
  const std::lock_guard lock(mutex_);
  for (const auto& entry : entries_) {
    if (!entry->kept || entry->status() == WorkerStatus::Draining) continue;
    SavedWorker worker{{entry->id}, entry->next_spec ? *entry->next_spec : entry->spec};
    worker.ids.insert(worker.ids.end(), entry->rank_ids.begin(), entry->rank_ids.end());
    kept.push_back(std::move(worker));
  }
  return kept;
}

// ---- with the lock held -------------------------------------------------------------------------

WorkerRegistry::EntryPtr WorkerRegistry::find(std::string_view id) const {
  const auto found = std::ranges::find_if(entries_, [&](const EntryPtr& entry) {
    return entry->id == id || entry->worker_of(id) != nullptr;
  });
  return found == entries_.end() ? nullptr : *found;
}

/// Why no registration of this URL can begin. One that has failed makes room for the next.
std::optional<ControlError> WorkerRegistry::why_not_now(std::string_view url) {
  std::size_t open_jobs = 0;
  EntryPtr failed;
  for (const auto& entry : entries_) {
    open_jobs += is_open(*entry) ? 1 : 0;
    if (entry->url() != url) continue;
    if (entry->registered()) {
      return ControlError{409, "WORKER_ALREADY_EXISTS",
                          "Worker with URL '" + entry->url() + "' is registered with ID " +
                              entry->id + ". Change it with PUT or PATCH /workers/" + entry->id +
                              "."};
    }
    if (!has_failed(*entry)) {
      return ControlError{409, "WORKER_CREATE_IN_PROGRESS",
                          "Worker with URL '" + entry->url() + "' is being registered with ID " +
                              entry->id + ". Follow it at GET /workers/" + entry->id + "."};
    }
    failed = entry;
  }
  if (open_jobs >= config_.fleet.job_queue_capacity) {
    return ControlError{503, "JOB_QUEUE_FULL", "Too many changes of workers are in progress"};
  }
  std::erase(entries_, failed);
  return std::nullopt;
}

WorkerRegistry::EntryPtr WorkerRegistry::new_entry(WorkerSpec spec) {
  auto entry = std::make_shared<WorkerEntry>();
  entry->id = make_uuid();
  entry->spec = std::move(spec);
  entry->job = new_job(JobType::AddWorker);
  entries_.push_back(entry);
  return entry;
}

/// From now on the worker outlives the process, as it is. That of a pod lives as long as its pod.
void WorkerRegistry::keep(WorkerEntry& entry) {
  if (entry.spec.pod) return;
  entry.kept = true;
  if (state_) state_->changed();
}

void WorkerRegistry::forget_old_failures() {
  const auto limit = net::Clock::now() - kFailuresAreKept;
  const auto forgotten = std::erase_if(entries_, [&](const EntryPtr& entry) {
    if (!has_failed(*entry) || entry->job->failed_at > limit) return false;
    entry->job.reset();
    return !entry->registered();
  });
  if (forgotten > 0 && state_) state_->changed();
}

void WorkerRegistry::start_registration(const EntryPtr& entry) {
  entry->job_scope = std::make_shared<CancelScope>(thread_);
  thread_.post([this, entry, scope = entry->job_scope] {
    if (!stopping_) tasks_.spawn(run_registration(entry, scope));
  });
}

/// No new requests from now on; the running ones may end (ruling 22).
void WorkerRegistry::start_removal(const EntryPtr& entry) {
  cancel(entry->job_scope);
  cancel(std::exchange(entry->health_scope, nullptr));
  cancel(std::exchange(entry->load_scope, nullptr));
  entry->next_spec.reset();
  entry->set_status(WorkerStatus::Draining);
  entry->job = new_job(JobType::RemoveWorker);
  if (state_) state_->changed();
  entry->job_scope = std::make_shared<CancelScope>(thread_);
  thread_.post([this, entry, scope = entry->job_scope] {
    if (!stopping_) tasks_.spawn(run_removal(entry, scope));
  });
}

void WorkerRegistry::start_health_checks(const EntryPtr& entry) {
  cancel(std::exchange(entry->health_scope, nullptr));
  const auto& worker = entry->workers.front();
  if (worker->facts().health.disabled) {
    entry->set_status(WorkerStatus::Ready);
    return;
  }
  entry->health_scope = std::make_shared<CancelScope>(thread_);
  // Of the entry only a weak reference: it holds the scope, and so the checks, by itself.
  HealthSubject subject{worker, [this, weak = std::weak_ptr(entry)](WorkerStatus status) {
                          if (const auto checked = weak.lock()) health_changed(checked, status);
                        }};
  thread_.post([this, subject, scope = entry->health_scope] {
    if (!stopping_) tasks_.spawn(watch_health(scope, subject, metrics_));
  });
}

void WorkerRegistry::cancel(const ScopePtr& scope) {
  if (scope) {
    thread_.post([scope] { scope->cancel(); });
  }
}

void WorkerRegistry::install(WorkerEntry& entry, std::vector<routing::WorkerPtr> workers) {
  entry.workers = std::move(workers);
  publish();
}

/// Before the lock is released: whoever has seen the change in the list finds it made on every
/// thread.
void WorkerRegistry::publish() {
  std::vector<routing::WorkerPtr> workers;
  for (const auto& entry : entries_) {
    workers.insert(workers.end(), entry->workers.begin(), entry->workers.end());
  }
  table_ = tables_->build(std::move(workers));
  show_pool_sizes(*table_);
  show_overloaded();
  fleet_.publish(table_);
}

void WorkerRegistry::show_pool_sizes(const routing::WorkerTable& table) {
  std::map<std::pair<std::string, routing::WorkerRole>, std::size_t> sizes;
  for (const auto& worker : table.workers()) {
    for (const auto& model : worker->facts().models) ++sizes[{model.id, worker->facts().pd.role}];
  }
  for (const auto& [pool, size] : sizes) sized_.insert(pool);
  for (const auto& pool : sized_) {
    const auto size = sizes.find(pool);
    metrics_.set_worker_pool_size(name_of(pool.second), pool.first,
                                  size == sizes.end() ? 0 : size->second);
  }
}

}  // namespace smg::control
