#include "routing/policies.hpp"
#include "routing/random_number.hpp"

namespace smg::routing {

Worker* least_loaded(std::span<Worker* const> workers) noexcept {
  Worker* best = nullptr;
  std::uint32_t best_load = 0;
  std::uint32_t ties = 0;
  for (Worker* worker : workers) {
    const std::uint32_t load = worker->load();
    if (best == nullptr || load < best_load) {
      best = worker;
      best_load = load;
      ties = 1;
    } else if (load == best_load && random_below(++ties) == 0) {
      best = worker;
    }
  }
  return best;
}

namespace {

/// Joins the shortest queue.
class LeastLoadPolicy final : public Policy {
 public:
  Worker* pick(std::span<Worker* const> eligible, const RoutingRequest&) override {
    return least_loaded(eligible);
  }
  std::string_view name() const noexcept override { return "least_load"; }
};

/// The less loaded of two that are drawn at random.
class PowerOfTwoPolicy final : public Policy {
 public:
  Worker* pick(std::span<Worker* const> eligible, const RoutingRequest&) override {
    if (eligible.size() == 1) return eligible.front();
    const auto size = static_cast<std::uint32_t>(eligible.size());
    const std::uint32_t first = random_below(size);
    const std::uint32_t second = (first + 1 + random_below(size - 1)) % size;
    Worker* const pair[] = {eligible[first], eligible[second]};
    return least_loaded(pair);
  }
  std::string_view name() const noexcept override { return "power_of_two"; }
};

}  // namespace

std::unique_ptr<Policy> make_least_load_policy() { return std::make_unique<LeastLoadPolicy>(); }
std::unique_ptr<Policy> make_power_of_two_policy() { return std::make_unique<PowerOfTwoPolicy>(); }

}  // namespace smg::routing
