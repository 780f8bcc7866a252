#include "routing/hash_ring.hpp"
#include <smg/routing/worker_table.hpp>

namespace smg::routing {
namespace {

std::shared_ptr<const HashRing> ring_of(const std::vector<Worker*>& workers) {
  std::vector<std::string_view> names;
  names.reserve(workers.size());
  for (const Worker* worker : workers) names.emplace_back(worker->url());
  return std::make_shared<const HashRing>(names);
}

}  // namespace

WorkerTable::WorkerTable(std::vector<WorkerPtr> workers,
                         std::map<std::string, ModelPool, std::less<>> pools,
                         std::map<std::string, std::string, std::less<>> aliases)
    : workers_(std::move(workers)), pools_(std::move(pools)), aliases_(std::move(aliases)) {
  for (auto& [model, pool] : pools_) {
    if (!model.empty()) ++model_count_;
    if (pool.policy->uses_ring()) pool.ring = ring_of(pool.workers);
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
