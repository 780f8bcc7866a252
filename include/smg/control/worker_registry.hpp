#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <smg/config/gateway_config.hpp>
#include <smg/control/control_result.hpp>
#include <smg/net/io_thread.hpp>
#include <smg/observability/metrics.hpp>
#include <smg/relay/fleet_view.hpp>
#include <smg/upstream/host_pool.hpp>

namespace smg::control {

struct WorkerSpec;
struct WorkerPatch;
struct WorkerEntry;
struct PodWorker;
struct ProbedWorker;
struct EngineLoad;
class CancelScope;
class StateFile;
class TableBuilder;
struct SavedWorker;

/// The master list of workers. Registers and removes them, watches their health, and publishes a
/// new worker table with every change. Its jobs run on io thread 0; the public methods may be
/// called on any thread, but are meant for the control plane: they share one lock.
class WorkerRegistry {
 public:
  /// All arguments must outlive the registry, which goes only after the io threads have stopped.
  /// Throws std::runtime_error for a --state-file that cannot be used.
  WorkerRegistry(const config::GatewayConfig& config, observability::Metrics& metrics,
                 net::IoThreads& threads, upstream::PoolDirectory& pools, relay::FleetView& fleet);
  ~WorkerRegistry();
  WorkerRegistry(const WorkerRegistry&) = delete;
  WorkerRegistry& operator=(const WorkerRegistry&) = delete;

  /// Registers the workers of --worker-urls, --prefill and --decode, in their order, and those of
  /// --state-file, in the background. Of a URL in both, the file knows what was made of it.
  void start();

  /// Gives up all jobs and health checks and waits for their end. On io thread 0. Later changes of
  /// the fleet are accepted, but nothing works on them.
  [[nodiscard]] net::Task<> stop();

  /// A change that has been accepted and goes on in the background.
  struct Accepted {
    std::string id;
    std::string url;
  };

  /// Errors: 409 for a URL that is registered or being registered, 503 beyond --job-queue-capacity.
  ControlResult<Accepted> add(WorkerSpec spec);
  /// Registers a worker anew under its id; the old self serves until then. Errors: 404; 400 when
  /// the URL is another one, and for a data-parallel rank; 409 while another job has the worker.
  ControlResult<Accepted> replace(std::string_view id, WorkerSpec spec);
  /// Takes effect at once, on all ranks of the worker's engine. Errors: 404.
  ControlResult<Accepted> change(std::string_view id, const WorkerPatch& patch);
  /// Drains and removes a worker, with all ranks of its engine, or cancels its registration.
  /// Errors: 404.
  ControlResult<Accepted> remove(std::string_view id);

  /// Ends when the accepted changes are in the state file, or could not be written. On `thread`.
  [[nodiscard]] net::Task<> saved(net::IoThread& thread);

  /// The JSON of `GET /workers/{id}`; nothing for an unknown id.
  [[nodiscard]] std::optional<std::string> describe(std::string_view id);
  /// The JSON of `GET /workers`, pending and failed registrations left out. `model`: a canonical id
  /// or an alias; nothing for all workers.
  [[nodiscard]] std::string describe_all(std::optional<std::string_view> model);

  /// The JSON of `GET /get_loads`, from the last reports.
  [[nodiscard]] std::string describe_loads() const;
  /// Brings the metrics up to date that are read off the fleet and not counted: for a scrape.
  void show_metrics() const;

  /// The registered workers in registration order.
  [[nodiscard]] std::vector<routing::WorkerPtr> workers() const;
  /// The same with only one worker, the first, of each engine with several ranks.
  [[nodiscard]] std::vector<routing::WorkerPtr> engines() const;
  [[nodiscard]] observability::Metrics& metrics() noexcept { return metrics_; }
  /// The workers that discovery has added, registered or not.
  [[nodiscard]] std::vector<PodWorker> pod_workers() const;
  /// The canonical ids of all registered models, each once, in registration order.
  [[nodiscard]] std::vector<std::string> models() const;

 private:
  using EntryPtr = std::shared_ptr<WorkerEntry>;
  using ScopePtr = std::shared_ptr<CancelScope>;

  // With the lock held.
  [[nodiscard]] EntryPtr find(std::string_view id) const;
  [[nodiscard]] std::optional<ControlError> why_not_now(std::string_view url);
  EntryPtr new_entry(WorkerSpec spec);
  void keep(WorkerEntry& entry);
  void add_from_flags(WorkerSpec spec);
  void restore(SavedWorker saved);
  void forget_old_failures();
  void registered(const EntryPtr& entry, const ProbedWorker& probed);
  void not_registered(WorkerEntry& entry, std::string reason);
  void start_registration(const EntryPtr& entry);
  void start_removal(const EntryPtr& entry);
  void start_health_checks(const EntryPtr& entry);
  void start_load_polls(const EntryPtr& entry);
  [[nodiscard]] bool needs_load(const routing::Worker& worker) const;
  [[nodiscard]] std::vector<routing::WorkerFacts> facts_of(WorkerEntry& entry, std::uint32_t ranks,
                                                           bool http2) const;
  void cancel(const ScopePtr& scope);
  void install(WorkerEntry& entry, std::vector<routing::WorkerPtr> workers);
  void publish();
  void show_pool_sizes(const routing::WorkerTable& table);
  void load_reported(WorkerEntry& entry, EngineLoad load);
  void show_overloaded();

  // On thread 0, taking the lock.
  [[nodiscard]] net::Task<> run_registration(EntryPtr entry, ScopePtr scope);
  [[nodiscard]] net::Task<> run_removal(EntryPtr entry, ScopePtr scope);
  void health_changed(const EntryPtr& entry, routing::WorkerStatus status);
  void load_polled(WorkerEntry& entry, std::optional<EngineLoad> load);
  void drop(const EntryPtr& entry);
  [[nodiscard]] std::vector<SavedWorker> kept_workers() const;

  const config::GatewayConfig& config_;
  observability::Metrics& metrics_;
  net::IoThread& thread_;  ///< number 0, where the jobs run
  upstream::PoolDirectory& pools_;
  relay::FleetView& fleet_;

  mutable std::mutex mutex_;
  std::vector<EntryPtr> entries_;  ///< in the order in which they were accepted
  std::unique_ptr<TableBuilder> tables_;
  routing::WorkerTablePtr table_;  ///< the last one published
  /// Models and roles with a pool size in the metrics.
  std::set<std::pair<std::string, routing::WorkerRole>> sized_;
  std::set<std::string, std::less<>> limited_models_;  ///< with a count of overloaded workers

  net::TaskGroup tasks_;   ///< on thread 0
  bool stopping_ = false;  ///< on thread 0

  std::vector<SavedWorker> saved_;    ///< until `start`
  std::unique_ptr<StateFile> state_;  ///< null without --state-file; reads the list when it goes
};

}  // namespace smg::control
