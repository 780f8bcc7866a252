#include "routing/policies.hpp"
#include "routing/random_number.hpp"

namespace smg::routing {
namespace {

/// Uniform over the eligible workers.
class RandomPolicy final : public Policy {
 public:
  Worker* pick(std::span<Worker* const> eligible, const RoutingRequest&) override {
    return eligible[random_below(static_cast<std::uint32_t>(eligible.size()))];
  }
  std::string_view name() const noexcept override { return "random"; }
};

}  // namespace

std::unique_ptr<Policy> make_random_policy() {
  return std::make_unique<RandomPolicy>();
}

}  // namespace smg::routing
