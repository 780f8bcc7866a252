#include "routing/expected_wait.hpp"
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

/// The shortest expected wait of all.
class LeastLoadPolicy final : public Policy {
 public:
  explicit LeastLoadPolicy(const config::LeastLoad& tuning) : tuning_(tuning) {}

  Worker* pick(std::span<Worker* const> eligible, const RoutingRequest& request) override {
    return shortest_wait(eligible, tuning_, request.now);
  }
  std::string_view name() const noexcept override { return "least_load"; }
  PromptUse prompt_use() const noexcept override { return {.tokens = true}; }

 private:
  const config::LeastLoad tuning_;
};

/// The shorter expected wait of two workers that are drawn at random. The flags of least_load do
/// not tune it.
class PowerOfTwoPolicy final : public Policy {
 public:
  Worker* pick(std::span<Worker* const> eligible, const RoutingRequest& request) override {
    if (eligible.size() == 1) return eligible.front();
    const auto size = static_cast<std::uint32_t>(eligible.size());
    const std::uint32_t first = random_below(size);
    const std::uint32_t second = (first + 1 + random_below(size - 1)) % size;
    Worker* const pair[] = {eligible[first], eligible[second]};
    return shortest_wait(pair, {}, request.now);
  }
  std::string_view name() const noexcept override { return "power_of_two"; }
  PromptUse prompt_use() const noexcept override { return {.tokens = true}; }
};

}  // namespace

std::unique_ptr<Policy> make_least_load_policy(const config::LeastLoad& tuning) {
  return std::make_unique<LeastLoadPolicy>(tuning);
}

std::unique_ptr<Policy> make_power_of_two_policy() {
  return std::make_unique<PowerOfTwoPolicy>();
}

}  // namespace smg::routing
