#pragma once

#include <span>
#include <string_view>

#include <smg/routing/policy.hpp>

namespace smg::routing {

/// The first of `eligible` (not empty) at or after the key on the ring of the request's pool.
/// Without a pool, on the ring of `eligible`, made for the occasion, which gives the same answer.
[[nodiscard]] Worker* owner_on_ring(std::string_view key, std::span<Worker* const> eligible,
                                    const RoutingRequest& request);

}  // namespace smg::routing
