#include "routing/policies.hpp"
#include <smg/base/text.hpp>

namespace smg::routing {
namespace {

using Config = config::GatewayConfig;
using PolicyPtr = std::unique_ptr<Policy>;
using Tallies = PolicyTalliesPtr;

struct PolicyName {
  std::string_view name;
  PolicyPtr (*make)(const Config&, const Tallies&);
  bool sticky_by_itself = false;
};

constexpr PolicyName kPolicies[] = {
    {"random", [](const Config&, const Tallies&) { return make_random_policy(); }},
    {"roundrobin", [](const Config&, const Tallies&) { return make_round_robin_policy(); }},
    {"passthrough", [](const Config&, const Tallies&) { return make_passthrough_policy(); }},
    {"leastload",
     [](const Config& c, const Tallies&) { return make_least_load_policy(c.routing.least_load); }},
    {"poweroftwo", [](const Config&, const Tallies&) { return make_power_of_two_policy(); }},
    {"cacheaware",
     [](const Config& c, const Tallies& t) { return make_cache_aware_policy(c.cache_aware, t); }},
    {"consistenthashing",
     [](const Config&, const Tallies& t) { return make_consistent_hashing_policy(t); }, true},
    {"prefixhash",
     [](const Config& c, const Tallies& t) {
       return make_prefix_hash_policy(c.routing.prefix_hash, c.cache_aware.boundaries, t);
     }},
    {"manual",
     [](const Config& c, const Tallies& t) { return make_manual_policy(c.routing.sticky, t); },
     true},
    {"bucket", [](const Config& c,
                  const Tallies&) { return make_bucket_policy(c.routing.bucket, c.cache_aware); }},
};

}  // namespace

PolicyPtr make_policy(std::string_view name, const Config& config,
                      const PolicyTalliesPtr& tallies) {
  std::string plain = text::to_lower(name);
  std::erase(plain, '_');
  for (const auto& [known, make, sticky_by_itself] : kPolicies) {
    if (known != plain) continue;
    PolicyPtr policy = make(config, tallies);
    if (sticky_by_itself || !config.fleet.routing_key_override) return policy;
    return make_sticky_policy(std::move(policy), config.routing.sticky, tallies);
  }
  return nullptr;
}

PolicyPtr make_policy(std::string_view name) {
  return make_policy(name, Config{});
}

}  // namespace smg::routing
