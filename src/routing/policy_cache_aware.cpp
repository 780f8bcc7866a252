#include "routing/policies.hpp"

namespace smg::routing {
namespace {

/// Routes on the prompt, so that requests with a common beginning meet the same worker's cache. Without
/// a prompt index every request is new to every worker, and goes to the shortest queue.
class CacheAwarePolicy final : public Policy {
 public:
  Worker* pick(std::span<Worker* const> eligible, const RoutingRequest&) override {
    return least_loaded(eligible);
  }
  std::string_view name() const noexcept override { return "cache_aware"; }
  bool reads_prompt() const noexcept override { return true; }
};

}  // namespace

std::unique_ptr<Policy> make_cache_aware_policy() { return std::make_unique<CacheAwarePolicy>(); }

}  // namespace smg::routing
