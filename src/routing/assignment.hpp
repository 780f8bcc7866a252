#pragma once

#include <span>

#include <smg/config/routing_tuning.hpp>
#include <smg/routing/worker.hpp>

namespace smg::routing {

/// A worker of `eligible` (not empty) for a new session by its mode; Default and Delegate count as
/// MinLoad. Ties are drawn at random.
[[nodiscard]] Worker* assign(config::AssignmentMode mode,
                             std::span<Worker* const> eligible) noexcept;

}  // namespace smg::routing
