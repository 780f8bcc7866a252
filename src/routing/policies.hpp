#pragma once

#include <smg/routing/policy.hpp>

namespace smg::routing {

[[nodiscard]] std::unique_ptr<Policy> make_random_policy();
[[nodiscard]] std::unique_ptr<Policy> make_round_robin_policy();
[[nodiscard]] std::unique_ptr<Policy> make_passthrough_policy();
[[nodiscard]] std::unique_ptr<Policy> make_least_load_policy();
[[nodiscard]] std::unique_ptr<Policy> make_power_of_two_policy();
[[nodiscard]] std::unique_ptr<Policy> make_cache_aware_policy();

/// The worker with the fewest requests in flight, ties drawn at random; nullptr of none.
[[nodiscard]] Worker* least_loaded(std::span<Worker* const> workers) noexcept;

}  // namespace smg::routing
