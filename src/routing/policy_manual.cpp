#include <algorithm>

#include "routing/assignment.hpp"
#include "routing/policies.hpp"
#include "routing/sticky_sessions.hpp"

namespace smg::routing {
namespace {

using config::AssignmentMode;

/// Any visible ASCII, of any length; more than a routing key may be elsewhere.
bool is_key(std::string_view value) noexcept {
  return !value.empty() && std::all_of(value.begin(), value.end(),
                                       [](char c) { return (c >= ' ' && c <= '~') || c == '\t'; });
}

/// Keeps each routing key at the worker it was first given, and returns to that one after its
/// absence.
class ManualPolicy final : public Policy {
 public:
  ManualPolicy(const config::StickySessions& tuning, PolicyTalliesPtr tallies)
      : mode_(tuning.assignment == AssignmentMode::Default ? AssignmentMode::Random
                                                           : tuning.assignment),
        pins_(tuning.max_idle),
        tallies_(std::move(tallies)) {}

  Worker* pick(std::span<Worker* const> eligible, const RoutingRequest& request) override {
    const auto key = request.routing_key;
    auto& branches = tallies_->sticky;
    if (!is_key(key)) {
      branches.count(StickyBranch::NoRoutingId);
      return assign(mode_, eligible);
    }
    const auto pins = pins_.find(key, eligible, request.now);
    branches.count(pins.branch());
    if (pins.worker != nullptr) return pins.worker;
    return pins_.pin(key, *assign(mode_, eligible), eligible, PinOrder::Behind, request.now);
  }

  std::unique_ptr<RequestHold> hold(Worker& worker, const RoutingRequest& request) override {
    if (!is_key(request.routing_key)) return nullptr;
    return ActiveSessions::begin(active_, request.routing_key, worker);
  }

  std::string_view name() const noexcept override { return "manual"; }
  PolicyMemory memory() const override {
    PolicyMemory memory;
    memory.sessions = pins_.size();
    return memory;
  }

 private:
  const AssignmentMode mode_;
  PinMap pins_;
  const PolicyTalliesPtr tallies_;
  const std::shared_ptr<ActiveSessions> active_ = std::make_shared<ActiveSessions>();
};

}  // namespace

std::unique_ptr<Policy> make_manual_policy(const config::StickySessions& tuning,
                                           PolicyTalliesPtr tallies) {
  return std::make_unique<ManualPolicy>(tuning, std::move(tallies));
}

}  // namespace smg::routing
