#pragma once

#include <algorithm>
#include <memory>
#include <string_view>

#include <smg/observability/tally.hpp>

namespace smg::routing {

/// How cache_aware came to its worker. Of a tree: by a prompt's known beginning, or past its
/// holders since they have too much to do; or by expected wait, since too little is known or since
/// caches are short. Of the hash index the same, and requests without a head to hash.
enum class CacheAwareBranch : std::uint8_t {
  TreeMatch,
  Spill,
  ExpectedWaitFallback,
  KvPressureExpectedWait,
  HashHit,
  HashSpill,
  HashExpectedWait,
  ShortRequest,
};
inline constexpr std::string_view kCacheAwareBranches[] = {
    "tree_match", "spill",      "expected_wait_fallback", "kv_pressure_expected_wait",
    "hash_hit",   "hash_spill", "hash_expected_wait",     "short_request"};

/// How a sticky key came to its worker, under manual or --routing-key-override.
enum class StickyBranch : std::uint8_t {
  OccupiedHit,   ///< the one it is pinned to
  OccupiedMiss,  ///< another, since none that it is pinned to will do
  Vacant,        ///< its first
  NoRoutingId,   ///< no key; manual only
  CapRespill,    ///< another, since the key has too many requests at its own
};
inline constexpr std::string_view kStickyBranches[] = {"occupied_hit", "occupied_miss", "vacant",
                                                       "no_routing_id", "cap_respill"};

enum class PrefixHashBranch : std::uint8_t {
  RingHit,            ///< the ring's worker
  LoadBalanceWalk,    ///< the ring's worker of a shorter prefix, the first being overloaded
  FallbackLeastLoad,  ///< the least loaded, all those being overloaded
  NoRoutingKey,       ///< the least loaded, there being nothing to hash
};
inline constexpr std::string_view kPrefixHashBranches[] = {"ring_hit", "load_balance_walk",
                                                           "fallback_least_load", "no_routing_key"};

enum class ConsistentHashingBranch : std::uint8_t {
  TargetWorkerHit,
  TargetWorkerMiss,
  RoutingKeyHit,
  RandomFallback,
};
inline constexpr std::string_view kConsistentHashingBranches[] = {
    "target_worker_hit", "target_worker_miss", "routing_key_hit", "random_fallback"};

/// Where --routing-key-override found a key.
enum class KeySource : std::uint8_t { Rid, Header };
inline constexpr std::string_view kKeySources[] = {"rid", "header"};

/// A tally of an enumeration.
template <class Branch, std::size_t Kinds>
class BranchTally {
 public:
  void count(Branch branch) noexcept { tally_.count(static_cast<std::size_t>(branch)); }
  [[nodiscard]] std::uint64_t total(Branch branch) const noexcept {
    return tally_.total(static_cast<std::size_t>(branch));
  }

  [[nodiscard]] static constexpr Branch first_kind() noexcept { return Branch{}; }

 private:
  observability::Tally<Kinds> tally_;
};

/// Shares between 0 and 1, in tenths.
class ShareTally {
 public:
  /// Of exactly nothing, up to each tenth; the last is 1.
  static constexpr std::size_t kBuckets = 11;

  void observe(double share) noexcept {
    const double tenths = std::clamp(share, 0.0, 1.0) * 10;
    auto bucket = static_cast<std::size_t>(tenths);
    if (tenths > static_cast<double>(bucket)) ++bucket;
    tally_.count(bucket);
    tally_.count(kBuckets, static_cast<std::uint64_t>(tenths * kUnitsPerTenth));
  }
  [[nodiscard]] std::uint64_t total(std::size_t bucket) const noexcept {
    return tally_.total(bucket);
  }
  [[nodiscard]] double sum() const noexcept {
    return static_cast<double>(tally_.total(kBuckets)) / (10 * kUnitsPerTenth);
  }

 private:
  static constexpr double kUnitsPerTenth = 1e5;
  observability::Tally<kBuckets + 1> tally_;
};

/// What the policies of all models tell of their decisions, for the metrics. Thread-safe.
struct PolicyTallies {
  BranchTally<CacheAwareBranch, std::size(kCacheAwareBranches)> cache_aware;
  BranchTally<StickyBranch, std::size(kStickyBranches)> sticky;
  BranchTally<PrefixHashBranch, std::size(kPrefixHashBranches)> prefix_hash;
  BranchTally<ConsistentHashingBranch, std::size(kConsistentHashingBranches)> consistent_hashing;
  BranchTally<KeySource, std::size(kKeySources)> key_source;
  ShareTally match_share;  ///< of cache_aware's trees: matched, of a whole prompt
};

using PolicyTalliesPtr = std::shared_ptr<PolicyTallies>;

}  // namespace smg::routing
