#pragma once

#include <span>

#include <smg/config/routing_tuning.hpp>
#include <smg/routing/worker.hpp>

namespace smg::routing {

/// The worker with the shortest expected wait by the load reports that are valid at `now` (spec
/// "least_load"), ties drawn at random:
///   - one that reports: seconds until its queue, with what was sent since, is done, plus a penalty
///   for a
///     full KV cache;
///   - a silent one while others report: seconds until its requests in flight are done at their
///   pace;
///   - if nobody reports: its requests in flight.
/// With a cap, workers that report a full queue are left out. nullptr: all are, or there are none.
[[nodiscard]] Worker* shortest_wait(std::span<Worker* const> workers,
                                    const config::LeastLoad& tuning, TimePoint now) noexcept;

}  // namespace smg::routing
