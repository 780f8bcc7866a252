#include "routing/policies.hpp"

namespace smg::routing {
namespace {

/// The first eligible worker, always: for fleets of one, or with a balancer behind the gateway.
class PassthroughPolicy final : public Policy {
 public:
  Worker* pick(std::span<Worker* const> eligible, const RoutingRequest&) override {
    return eligible.front();
  }
  std::string_view name() const noexcept override { return "passthrough"; }
};

}  // namespace

std::unique_ptr<Policy> make_passthrough_policy() {
  return std::make_unique<PassthroughPolicy>();
}

}  // namespace smg::routing
