#pragma once

#include <smg/routing/policy.hpp>

namespace smg::routing {

[[nodiscard]] std::unique_ptr<Policy> make_random_policy();
[[nodiscard]] std::unique_ptr<Policy> make_round_robin_policy();
[[nodiscard]] std::unique_ptr<Policy> make_passthrough_policy();
[[nodiscard]] std::unique_ptr<Policy> make_least_load_policy(const config::LeastLoad& tuning);
[[nodiscard]] std::unique_ptr<Policy> make_power_of_two_policy();
[[nodiscard]] std::unique_ptr<Policy> make_cache_aware_policy(
    const config::CacheAware& tuning, PolicyTalliesPtr tallies = std::make_shared<PolicyTallies>());
[[nodiscard]] std::unique_ptr<Policy> make_consistent_hashing_policy(
    PolicyTalliesPtr tallies = std::make_shared<PolicyTallies>());
/// `boundaries`: --cache-boundaries, in tokens, ascending; may be empty.
[[nodiscard]] std::unique_ptr<Policy> make_prefix_hash_policy(
    const config::PrefixHash& tuning, std::vector<std::uint64_t> boundaries,
    PolicyTalliesPtr tallies = std::make_shared<PolicyTallies>());
[[nodiscard]] std::unique_ptr<Policy> make_manual_policy(
    const config::StickySessions& tuning,
    PolicyTalliesPtr tallies = std::make_shared<PolicyTallies>());
/// --prefill-policy only. `balance`: its two balance thresholds.
[[nodiscard]] std::unique_ptr<Policy> make_bucket_policy(const config::Bucket& tuning,
                                                         const config::CacheAware& balance);

/// `inner`, but keeping the requests of a session at one worker (--routing-key-override).
[[nodiscard]] std::unique_ptr<Policy> make_sticky_policy(
    std::unique_ptr<Policy> inner, const config::StickySessions& tuning,
    PolicyTalliesPtr tallies = std::make_shared<PolicyTallies>());

/// The worker with the fewest requests in flight, ties drawn at random; nullptr of none.
[[nodiscard]] Worker* least_loaded(std::span<Worker* const> workers) noexcept;

}  // namespace smg::routing
