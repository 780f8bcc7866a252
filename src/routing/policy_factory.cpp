#include "routing/policies.hpp"

#include <smg/base/text.hpp>

namespace smg::routing {
namespace {

struct PolicyName {
  std::string_view name;
  std::unique_ptr<Policy> (*make)();
};

constexpr PolicyName kPolicies[] = {
    {"random", make_random_policy},           {"roundrobin", make_round_robin_policy},
    {"passthrough", make_passthrough_policy}, {"leastload", make_least_load_policy},
    {"poweroftwo", make_power_of_two_policy}, {"cacheaware", make_cache_aware_policy},
};

}  // namespace

std::unique_ptr<Policy> make_policy(std::string_view name) {
  std::string plain = text::to_lower(name);
  std::erase(plain, '_');
  for (const auto& [known, make] : kPolicies) {
    if (known == plain) return make();
  }
  return nullptr;
}

}  // namespace smg::routing
