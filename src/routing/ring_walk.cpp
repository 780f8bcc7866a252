#include "routing/ring_walk.hpp"

#include <algorithm>

#include "routing/hash_ring.hpp"
#include <smg/routing/worker_table.hpp>

namespace smg::routing {

Worker* owner_on_ring(std::string_view key, std::span<Worker* const> eligible,
                      const RoutingRequest& request) {
  if (request.pool == nullptr || !request.pool->ring) {
    std::vector<std::string_view> names;
    for (const Worker* worker : eligible) names.emplace_back(worker->url());
    const auto owner = HashRing(names).owner(key, [](std::uint32_t) { return true; });
    return eligible[owner.value_or(0)];
  }
  const auto& workers = request.pool->workers;
  const auto owner = request.pool->ring->owner(key, [&](std::uint32_t member) {
    return std::find(eligible.begin(), eligible.end(), workers[member]) != eligible.end();
  });
  return owner ? workers[*owner] : eligible.front();
}

}  // namespace smg::routing
