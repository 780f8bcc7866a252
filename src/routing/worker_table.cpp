#include <smg/routing/worker_table.hpp>

namespace smg::routing {

WorkerTable::WorkerTable(std::vector<WorkerPtr> workers,
                         std::map<std::string, ModelPool, std::less<>> pools,
                         std::map<std::string, std::string, std::less<>> aliases)
    : workers_(std::move(workers)), pools_(std::move(pools)), aliases_(std::move(aliases)) {
  for (const auto& [model, pool] : pools_) {
    if (!model.empty()) ++model_count_;
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
