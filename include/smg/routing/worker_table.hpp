#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <smg/routing/policy.hpp>
#include <smg/routing/worker.hpp>

namespace smg::routing {

class HashRing;

/// The workers of one model, in registration order, and the policy that picks among them.
struct ModelPool {
  std::string model;  ///< canonical id; empty for the pool of all workers
  std::vector<Worker*> workers;
  std::shared_ptr<Policy> policy;
  /// Of `workers`, by their index; made by WorkerTable if the policy uses it.
  std::shared_ptr<const HashRing> ring = nullptr;
};

/// The fleet at one moment. Immutable: a change of the fleet makes a new table, which is handed to
/// every io thread; what changes by itself (health, breaker, load) is in the workers.
class WorkerTable {
 public:
  WorkerTable() = default;

  /// `pools[""]` is the pool of all workers. `aliases` leads from further names to canonical ids.
  /// `before`: a table of a similar fleet, whose rings spare the work of making new ones.
  WorkerTable(std::vector<WorkerPtr> workers, std::map<std::string, ModelPool, std::less<>> pools,
              std::map<std::string, std::string, std::less<>> aliases,
              const WorkerTable* before = nullptr);

  /// The pool for a model as a client names it: by canonical id first, then by alias; nullptr:
  /// nobody serves it. The empty name means any worker, and is nullptr only while there is none.
  [[nodiscard]] const ModelPool* find(std::string_view model) const noexcept;

  [[nodiscard]] const std::vector<WorkerPtr>& workers() const noexcept { return workers_; }
  [[nodiscard]] const std::map<std::string, ModelPool, std::less<>>& pools() const noexcept {
    return pools_;
  }

  [[nodiscard]] std::size_t model_count() const noexcept { return model_count_; }
  /// The default or a per-model policy reads the prompt.
  [[nodiscard]] bool policy_reads_prompt() const noexcept { return reads_prompt_; }
  [[nodiscard]] bool worker_mutates_body() const noexcept { return mutates_body_; }

 private:
  std::vector<WorkerPtr> workers_;
  std::map<std::string, ModelPool, std::less<>> pools_;
  std::map<std::string, std::string, std::less<>> aliases_;
  std::size_t model_count_ = 0;
  bool reads_prompt_ = false;
  bool mutates_body_ = false;
};

using WorkerTablePtr = std::shared_ptr<const WorkerTable>;

}  // namespace smg::routing
