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

/// The workers that share the requests of one model: each takes one of either pool.
struct PairPools {
  ModelPool prefill;
  ModelPool decode;

  /// What the two policies look at.
  [[nodiscard]] PromptUse prompt_use() const noexcept {
    return prefill.policy->prompt_use().and_of(decode.policy->prompt_use());
  }

  /// Neither pool is empty.
  [[nodiscard]] bool complete() const noexcept {
    return !prefill.workers.empty() && !decode.workers.empty();
  }
};

/// By canonical id; the empty one is that of all workers.
using ModelPools = std::map<std::string, ModelPool, std::less<>>;
using ModelPairs = std::map<std::string, PairPools, std::less<>>;

/// The fleet at one moment. Immutable: a change of the fleet makes a new table, which is handed to
/// every io thread; what changes by itself (health, breaker, load) is in the workers.
class WorkerTable {
 public:
  WorkerTable() = default;

  /// `pools` and `pairs` have regular workers, and those of the two other roles. `aliases` leads
  /// from further names to canonical ids. `before`: a table of a similar fleet, whose rings spare
  /// the work of making new ones.
  WorkerTable(std::vector<WorkerPtr> workers, ModelPools pools,
              std::map<std::string, std::string, std::less<>> aliases,
              const WorkerTable* before = nullptr, ModelPairs pairs = {});

  /// The pool of regular workers for a model as a client names it: by canonical id first, then by
  /// alias; nullptr: nobody serves it. The empty name means any worker, and is nullptr only while
  /// there is none.
  [[nodiscard]] const ModelPool* find(std::string_view model) const noexcept;

  /// The same for the workers that share requests; one of the two pools may be empty.
  [[nodiscard]] const PairPools* find_pairs(std::string_view model) const noexcept;

  [[nodiscard]] const std::vector<WorkerPtr>& workers() const noexcept { return workers_; }
  [[nodiscard]] const ModelPools& pools() const noexcept { return pools_; }
  [[nodiscard]] const ModelPairs& pairs() const noexcept { return pairs_; }

  /// Models with regular workers.
  [[nodiscard]] std::size_t model_count() const noexcept { return model_count_; }
  /// The default or a per-model policy reads the prompt.
  [[nodiscard]] bool policy_reads_prompt() const noexcept { return reads_prompt_; }
  [[nodiscard]] bool worker_mutates_body() const noexcept { return mutates_body_; }

 private:
  template <class Pools>
  [[nodiscard]] auto look_up(const Pools& pools, std::string_view model) const noexcept;

  std::vector<WorkerPtr> workers_;
  ModelPools pools_;
  ModelPairs pairs_;
  std::map<std::string, std::string, std::less<>> aliases_;
  std::size_t model_count_ = 0;
  bool reads_prompt_ = false;
  bool mutates_body_ = false;
};

using WorkerTablePtr = std::shared_ptr<const WorkerTable>;

}  // namespace smg::routing
