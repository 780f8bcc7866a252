#include <algorithm>
#include <iterator>

#include "routing/assignment.hpp"
#include "routing/policies.hpp"
#include "routing/sticky_sessions.hpp"
#include <smg/routing/hints.hpp>

namespace smg::routing {
namespace {

using config::AssignmentMode;

std::string_view key_of(const RoutingRequest& request) noexcept {
  const auto key = session_key(request.rid);
  return key.empty() ? session_key(request.session_header) : key;
}

/// Keeps each session at one worker, on top of another policy, which places new ones. A session
/// with many requests at once does not pile them up at its worker: it moves on. Requests of no
/// session go by the policy beneath.
class StickyPolicy final : public Policy {
 public:
  StickyPolicy(std::unique_ptr<Policy> inner, const config::StickySessions& tuning,
               PolicyTalliesPtr tallies)
      : inner_(std::move(inner)),
        tuning_(tuning),
        pins_(tuning.max_idle),
        tallies_(std::move(tallies)) {}

  Worker* pick(std::span<Worker* const> eligible, const RoutingRequest& request) override {
    const auto key = key_of(request);
    if (key.empty()) return inner_->pick(eligible, request);
    tallies_->key_source.count(session_key(request.rid).empty() ? KeySource::Header
                                                                : KeySource::Rid);
    const auto pins = pins_.find(key, eligible, request.now);
    Worker* const pinned = pins.worker;
    const bool is_full = pinned != nullptr && !has_room(key, *pinned);
    tallies_->sticky.count(is_full ? StickyBranch::CapRespill : pins.branch());
    if (pinned == nullptr) {
      Worker* const chosen = place(eligible, request);
      if (chosen == nullptr) return nullptr;
      return pins_.pin(key, *chosen, eligible, order_of_new_pin(key, request), request.now);
    }
    return is_full ? place_elsewhere(key, eligible, request) : pinned;
  }

  Result<Worker*> target(std::span<Worker* const> workers,
                         const RoutingRequest& request) const override {
    return inner_->target(workers, request);
  }

  std::unique_ptr<RequestHold> hold(Worker& worker, const RoutingRequest& request) override {
    const auto key = key_of(request);
    if (key.empty()) return inner_->hold(worker, request);
    return ActiveSessions::begin(active_, key, worker);
  }

  std::string_view name() const noexcept override { return inner_->name(); }
  bool reads_prompt() const noexcept override { return inner_->reads_prompt(); }
  PromptUse prompt_use() const noexcept override { return inner_->prompt_use(); }
  bool uses_ring() const noexcept override { return inner_->uses_ring(); }
  PolicyMemory memory() const override {
    PolicyMemory memory = inner_->memory();
    memory.sessions = pins_.size();
    return memory;
  }

 private:
  bool has_room(std::string_view key, const Worker& worker) const {
    return active_->count(key, worker) < tuning_.max_in_flight;
  }

  /// A worker that this very request is kept from is still the session's: one failure does not move
  /// it for good.
  PinOrder order_of_new_pin(std::string_view key, const RoutingRequest& request) {
    if (request.kept_back.empty()) return PinOrder::Before;
    const bool returns = pins_.find(key, request.kept_back, request.now).worker != nullptr;
    return returns ? PinOrder::Behind : PinOrder::Before;
  }

  Worker* place(std::span<Worker* const> eligible, const RoutingRequest& request) {
    const bool delegates = tuning_.assignment == AssignmentMode::Default ||
                           tuning_.assignment == AssignmentMode::Delegate;
    return delegates ? inner_->pick(eligible, request) : assign(tuning_.assignment, eligible);
  }

  /// Among the workers with room for the session, and there it stays; among all if there is no room
  /// at all.
  Worker* place_elsewhere(std::string_view key, std::span<Worker* const> eligible,
                          const RoutingRequest& request) {
    std::vector<Worker*> roomy;
    std::copy_if(eligible.begin(), eligible.end(), std::back_inserter(roomy),
                 [&](const Worker* worker) { return has_room(key, *worker); });
    if (roomy.empty()) return place(eligible, request);
    Worker* const chosen = place(roomy, request);
    if (chosen != nullptr) pins_.move(key, *chosen, request.now);
    return chosen;
  }

  const std::unique_ptr<Policy> inner_;
  const config::StickySessions tuning_;
  PinMap pins_;
  const PolicyTalliesPtr tallies_;
  const std::shared_ptr<ActiveSessions> active_ = std::make_shared<ActiveSessions>();
};

}  // namespace

std::unique_ptr<Policy> make_sticky_policy(std::unique_ptr<Policy> inner,
                                           const config::StickySessions& tuning,
                                           PolicyTalliesPtr tallies) {
  return std::make_unique<StickyPolicy>(std::move(inner), tuning, std::move(tallies));
}

}  // namespace smg::routing
