#include "routing/assignment.hpp"

#include "routing/policies.hpp"
#include "routing/random_number.hpp"

namespace smg::routing {
namespace {

Worker* fewest_sessions(std::span<Worker* const> eligible) noexcept {
  Worker* best = nullptr;
  std::uint32_t fewest = 0;
  std::uint32_t ties = 0;
  for (Worker* worker : eligible) {
    const auto sessions = worker->active_keys().load(std::memory_order_relaxed);
    if (best == nullptr || sessions < fewest) {
      best = worker;
      fewest = sessions;
      ties = 1;
    } else if (sessions == fewest && random_below(++ties) == 0) {
      best = worker;
    }
  }
  return best;
}

}  // namespace

Worker* assign(config::AssignmentMode mode, std::span<Worker* const> eligible) noexcept {
  switch (mode) {
    case config::AssignmentMode::Random:
      return eligible[random_below(static_cast<std::uint32_t>(eligible.size()))];
    case config::AssignmentMode::MinGroup: return fewest_sessions(eligible);
    case config::AssignmentMode::Default:
    case config::AssignmentMode::MinLoad:
    case config::AssignmentMode::Delegate: break;
  }
  return least_loaded(eligible);
}

}  // namespace smg::routing
