#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <smg/routing/selection.hpp>

namespace smg::routing {

/// The two workers of one attempt.
struct WorkerPair {
  std::unique_ptr<Selection> prefill;
  std::unique_ptr<Selection> decode;
};

/// Chooses a pair (router modes, section 1): of the prefill workers that may be selected and agree
/// with a decode worker that may be, the prefill policy's choice; of the decode workers that agree
/// with it, the decode policy's. What makes a worker selectable, and how `avoid` and a worker named
/// by the client count, is as of select_worker; a name has to fit one of the two roles. Errors:
/// NoAvailableWorkers, WorkersOverloaded, InvalidTargetWorker.
[[nodiscard]] Result<WorkerPair> select_pair(const WorkerTable& table, const PairPools& pools,
                                             const RoutingRequest& request,
                                             std::span<const std::uint32_t> avoid, TimePoint now);

/// Of a model with `regular` workers and the two pools of `pairs` (either may be null): whether the
/// next request goes to a pair. Drawn in proportion to the workers that are healthy, or that are
/// there if none is; pairs with an empty role count for nothing. `draw` is uniform in [0, 1).
[[nodiscard]] bool draws_pair(const ModelPool* regular, const PairPools* pairs,
                              double draw) noexcept;

}  // namespace smg::routing
