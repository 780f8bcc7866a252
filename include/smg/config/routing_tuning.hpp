#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

/// Numbers of the policies, and of the load reports that some read.
namespace smg::config {

/// Tuning of the policy cache_aware. Checked only while that policy is chosen.
struct CacheAware {
  double match_threshold = 0.3;                 ///< --cache-threshold, 0 to 1
  std::uint64_t balance_abs_threshold = 64;     ///< --balance-abs-threshold
  double balance_rel_threshold = 1.5;           ///< --balance-rel-threshold, at least 1
  double balance_token_usage_threshold = 1.0;   ///< --balance-token-usage-threshold; 1: off
  double overload_token_usage_threshold = 1.0;  ///< --overload-token-usage-threshold; 1: off
  double overlap_decay = 0.0;                   ///< --overlap-decay
  double selection_temperature = 0.0;           ///< --selection-temperature
  std::chrono::seconds eviction_interval{60};   ///< --eviction-interval-secs
  std::uint64_t max_tree_size = 67108864;       ///< --max-tree-size, characters for each model
  std::uint64_t block_size = 16;                ///< --block-size, tokens
  std::vector<std::uint64_t> boundaries;        ///< --cache-boundaries, tokens, ascending
  std::string index = "tree";                   ///< --cache-index, tree or hash
  std::chrono::seconds ttl{180};                ///< --cache-ttl-secs
};

struct LoadMonitor {
  bool disabled = false;              ///< --disable-load-monitoring
  std::chrono::seconds interval{10};  ///< --load-monitor-interval
};

/// When a worker counts as overloaded by its own report. Nothing is set: never.
struct WorkerOverload {
  bool protection = false;                        ///< --worker-overload-protection
  std::optional<std::uint64_t> waiting_requests;  ///< --worker-overload-waiting-requests
  std::optional<double> token_usage;  ///< --worker-overload-token-usage; 0.9 under the protection
};

/// Expected wait at a worker, from its load reports.
struct LeastLoad {
  double kv_pressure_weight = 0.15;        ///< --least-load-kv-pressure-weight, seconds
  double default_throughput = 2000.0;      ///< --least-load-default-throughput, tokens per second
  double mean_prefill_tokens = 1024.0;     ///< --least-load-mean-prefill-tokens
  std::uint64_t max_waiting_requests = 0;  ///< --least-load-max-waiting-requests; 0: no cap
};

struct PrefixHash {
  std::uint64_t token_count = 256;  ///< --prefix-token-count; four times as many characters
  double load_factor = 1.25;        ///< --prefix-hash-load-factor, at least 1
  std::uint64_t balance_abs_threshold = 10;  ///< --prefix-hash-balance-abs-threshold
};

/// How a key without a worker gets one.
enum class AssignmentMode : std::uint8_t {
  Default,  ///< random under the policy manual, delegate under --routing-key-override
  Random,
  MinLoad,   ///< fewest requests in flight
  MinGroup,  ///< fewest keys with requests in flight
  Delegate,  ///< the policy beneath decides; under manual the same as MinLoad
};

struct StickySessions {
  AssignmentMode assignment = AssignmentMode::Default;  ///< --assignment-mode
  std::chrono::seconds max_idle{14400};                 ///< --max-idle-secs; 0: keys never expire
  std::uint32_t max_in_flight = 2;  ///< requests of one key at its worker under the override
};

struct Bucket {
  std::chrono::seconds adjust_interval{5};  ///< --bucket-adjust-interval-secs
};

struct RoutingTuning {
  LeastLoad least_load;
  PrefixHash prefix_hash;
  StickySessions sticky;
  Bucket bucket;
};

}  // namespace smg::config
