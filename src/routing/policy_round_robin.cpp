#include "routing/policies.hpp"

namespace smg::routing {
namespace {

/// One after the other; the count goes on when the fleet changes.
class RoundRobinPolicy final : public Policy {
 public:
  Worker* pick(std::span<Worker* const> eligible, const RoutingRequest&) override {
    return eligible[next_.fetch_add(1, std::memory_order_relaxed) % eligible.size()];
  }
  std::string_view name() const noexcept override { return "round_robin"; }

 private:
  std::atomic<std::uint64_t> next_{0};
};

}  // namespace

std::unique_ptr<Policy> make_round_robin_policy() {
  return std::make_unique<RoundRobinPolicy>();
}

}  // namespace smg::routing
