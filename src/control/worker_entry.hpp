#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "control/cancel_scope.hpp"
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

/// A line of the master list. All of it is read and changed under the registry's lock; the scopes
/// are cancelled on io thread 0 only.
struct WorkerEntry {
  std::string id;
  WorkerSpec spec;
  std::optional<WorkerSpec> next_spec;  ///< of a PUT that is being worked on
  DiscoveredWorker discovered;
  routing::WorkerPtr worker;  ///< null until it is registered
  std::optional<Job> job;
  std::shared_ptr<CancelScope> job_scope;     ///< of the open job
  std::shared_ptr<CancelScope> health_scope;  ///< of the health checks

  [[nodiscard]] const std::string& url() const noexcept { return spec.url.text; }

  [[nodiscard]] routing::WorkerStatus status() const noexcept {
    if (worker) return worker->status();
    const bool failed = job && job->state == JobState::Failed;
    return failed ? routing::WorkerStatus::Failed : routing::WorkerStatus::Pending;
  }
};

}  // namespace smg::control
