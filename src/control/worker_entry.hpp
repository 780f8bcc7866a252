#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/cancel_scope.hpp"
#include "control/engine_load.hpp"
#include "control/worker_facts.hpp"
#include <smg/routing/worker.hpp>

namespace smg::control {

enum class JobType : std::uint8_t { AddWorker, UpdateWorker, RemoveWorker };
enum class JobState : std::uint8_t { Processing, Failed };

/// The last thing that was asked about a worker, for as long as it is open or has failed.
struct Job {
  JobType type = JobType::AddWorker;
  JobState state = JobState::Processing;
  std::string message;         ///< why it failed
  std::int64_t timestamp = 0;  ///< seconds since 1970
  net::TimePoint failed_at{};
};

/// An engine in the master list: one worker, or one for each of its data-parallel ranks. All of it
/// is read and changed under the registry's lock; the scopes
/// are cancelled on io thread 0 only.
struct WorkerEntry {
  std::string id;                     ///< of its only worker, or of rank 0
  std::vector<std::string> rank_ids;  ///< of ranks 1 and up
  bool kept = false;                  ///< in the state file, as the API has made or changed it
  bool restored = false;  ///< from the state file: its registration does not end by itself
  WorkerSpec spec;
  std::optional<WorkerSpec> next_spec;  ///< of a PUT that is being worked on
  DiscoveredWorker discovered;
  std::vector<routing::WorkerPtr> workers;  ///< by rank; empty until it is registered
  std::optional<EngineLoad> load;           ///< the last report
  net::TimePoint load_valid_until{};
  std::optional<Job> job;
  std::shared_ptr<CancelScope> job_scope;     ///< of the open job
  std::shared_ptr<CancelScope> health_scope;  ///< of the health checks
  std::shared_ptr<CancelScope> load_scope;    ///< of the load polls

  [[nodiscard]] const std::string& url() const noexcept { return spec.url.text; }

  [[nodiscard]] bool registered() const noexcept { return !workers.empty(); }

  /// The worker of this id; null for an id of somebody else, and until it is registered.
  [[nodiscard]] const routing::Worker* worker_of(std::string_view worker_id) const noexcept {
    for (const auto& worker : workers) {
      if (worker->facts().id == worker_id) return worker.get();
    }
    return nullptr;
  }

  /// The last report, while it counts.
  [[nodiscard]] const EngineLoad* current_load() const noexcept {
    return load && net::Clock::now() < load_valid_until ? &*load : nullptr;
  }

  void set_status(routing::WorkerStatus status) noexcept {
    for (const auto& worker : workers) worker->set_status(status);
  }

  [[nodiscard]] routing::WorkerStatus status() const noexcept {
    if (registered()) return workers.front()->status();
    const bool failed = job && job->state == JobState::Failed;
    return failed ? routing::WorkerStatus::Failed : routing::WorkerStatus::Pending;
  }
};

}  // namespace smg::control
