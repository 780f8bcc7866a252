#include "routing/hash_ring.hpp"
#include <smg/routing/worker_table.hpp>

namespace smg::routing {
namespace {

using RingPtr = std::shared_ptr<const HashRing>;

/// `former`: the pool as it was, or nullptr.
RingPtr ring_of(const ModelPool& pool, const ModelPool* former) {
  std::vector<std::string_view> names;
  names.reserve(pool.workers.size());
  for (const Worker* worker : pool.workers) names.emplace_back(worker->url());
  if (former != nullptr && former->ring) {
    return std::make_shared<const HashRing>(names, *former->ring);
  }
  return std::make_shared<const HashRing>(names);
}

const ModelPool* former_of(const WorkerTable* before, const std::string& model) {
  if (before == nullptr) return nullptr;
  const auto former = before->pools().find(model);
  return former == before->pools().end() ? nullptr : &former->second;
}

const PairPools* former_pair_of(const WorkerTable* before, const std::string& model) {
  if (before == nullptr) return nullptr;
  const auto former = before->pairs().find(model);
  return former == before->pairs().end() ? nullptr : &former->second;
}

void add_ring(ModelPool& pool, const ModelPool* former) {
  if (pool.policy->uses_ring()) pool.ring = ring_of(pool, former);
}

}  // namespace

WorkerTable::WorkerTable(std::vector<WorkerPtr> workers, ModelPools pools,
                         std::map<std::string, std::string, std::less<>> aliases,
                         const WorkerTable* before, ModelPairs pairs)
    : workers_(std::move(workers)),
      pools_(std::move(pools)),
      pairs_(std::move(pairs)),
      aliases_(std::move(aliases)) {
  const ModelPool* last_with_ring = nullptr;
  for (auto& [model, pool] : pools_) {
    if (!model.empty()) ++model_count_;
    if (pool.policy->uses_ring()) {
      // Where there is one model, its workers are all workers.
      const bool is_same = last_with_ring != nullptr && last_with_ring->workers == pool.workers;
      pool.ring = is_same ? last_with_ring->ring : ring_of(pool, former_of(before, model));
      last_with_ring = &pool;
    }
    reads_prompt_ = reads_prompt_ || pool.policy->reads_prompt();
  }
  for (auto& [model, pair] : pairs_) {
    const PairPools* const former = former_pair_of(before, model);
    add_ring(pair.prefill, former != nullptr ? &former->prefill : nullptr);
    add_ring(pair.decode, former != nullptr ? &former->decode : nullptr);
  }
  for (const auto& worker : workers_) mutates_body_ = mutates_body_ || worker->facts().mutates_body;
}

/// What a map of pools has for a model, by its id or an alias; nullptr if it has nothing.
template <class Pools>
auto WorkerTable::look_up(const Pools& pools, std::string_view model) const noexcept {
  auto found = pools.find(model);
  if (found == pools.end()) {
    const auto alias = aliases_.find(model);
    if (alias != aliases_.end()) found = pools.find(alias->second);
  }
  return found == pools.end() ? nullptr : &found->second;
}

const ModelPool* WorkerTable::find(std::string_view model) const noexcept {
  const ModelPool* const pool = look_up(pools_, model);
  return pool == nullptr || pool->workers.empty() ? nullptr : pool;
}

const PairPools* WorkerTable::find_pairs(std::string_view model) const noexcept {
  return look_up(pairs_, model);
}

}  // namespace smg::routing
