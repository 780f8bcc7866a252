#include "routing/hash_ring.hpp"
#include <smg/routing/worker_table.hpp>

namespace smg::routing {
namespace {

using RingPtr = std::shared_ptr<const HashRing>;

RingPtr ring_of(const ModelPool& pool, const WorkerTable* before) {
  std::vector<std::string_view> names;
  names.reserve(pool.workers.size());
  for (const Worker* worker : pool.workers) names.emplace_back(worker->url());
  if (before != nullptr) {
    const auto former = before->pools().find(pool.model);
    if (former != before->pools().end() && former->second.ring) {
      return std::make_shared<const HashRing>(names, *former->second.ring);
    }
  }
  return std::make_shared<const HashRing>(names);
}

}  // namespace

WorkerTable::WorkerTable(std::vector<WorkerPtr> workers,
                         std::map<std::string, ModelPool, std::less<>> pools,
                         std::map<std::string, std::string, std::less<>> aliases,
                         const WorkerTable* before)
    : workers_(std::move(workers)), pools_(std::move(pools)), aliases_(std::move(aliases)) {
  const ModelPool* last_with_ring = nullptr;
  for (auto& [model, pool] : pools_) {
    if (!model.empty()) ++model_count_;
    if (pool.policy->uses_ring()) {
      // Where there is one model, its workers are all workers.
      const bool is_same = last_with_ring != nullptr && last_with_ring->workers == pool.workers;
      pool.ring = is_same ? last_with_ring->ring : ring_of(pool, before);
      last_with_ring = &pool;
    }
    reads_prompt_ = reads_prompt_ || pool.policy->reads_prompt();
  }
  for (const auto& worker : workers_) mutates_body_ = mutates_body_ || worker->facts().mutates_body;
}

const ModelPool* WorkerTable::find(std::string_view model) const noexcept {
  auto pool = pools_.find(model);
  if (pool == pools_.end()) {
    const auto alias = aliases_.find(model);
    if (alias == aliases_.end()) return nullptr;
    pool = pools_.find(alias->second);
    if (pool == pools_.end()) return nullptr;
  }
  return pool->second.workers.empty() ? nullptr : &pool->second;
}

}  // namespace smg::routing
