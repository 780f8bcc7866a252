#include <string>
#include <vector>

#include "micro/allocations.hpp"
#include "unit/routing/simulated_fleet.hpp"

namespace smg::bench {
namespace {

constexpr std::size_t kWorkers = 100;
constexpr std::size_t kConversations = 512;
constexpr std::size_t kPromptBytes = 2048;

struct Conversation {
  std::string key;
  std::string prompt;
};

/// Conversations of which sixteen each share the first half of their prompts.
std::vector<Conversation> conversations() {
  std::vector<Conversation> all;
  for (std::size_t i = 0; i < kConversations; ++i) {
    Conversation conversation{"session-" + std::to_string(i), {}};
    auto& prompt = conversation.prompt;
    while (prompt.size() < kPromptBytes / 2) prompt += "system " + std::to_string(i / 16) + ' ';
    while (prompt.size() < kPromptBytes) prompt += "turn " + std::to_string(i) + ' ';
    all.push_back(std::move(conversation));
  }
  return all;
}

/// One choice among 100 healthy workers, and its end: eligibility, policy, load and breaker.
void select_worker(benchmark::State& state, std::string_view policy) {
  const routing::SimulatedFleet fleet(kWorkers, routing::make_policy(policy));
  const auto all = conversations();
  std::size_t i = 0;
  const CountAllocations count(state);
  for (auto _ : state) {
    const auto& [key, prompt] = all[i++ % kConversations];
    auto selected = fleet.select({.model = "m", .routing_key = key, .text = prompt});
    benchmark::DoNotOptimize(selected);
  }
}
BENCHMARK_CAPTURE(select_worker, round_robin, "round_robin");
BENCHMARK_CAPTURE(select_worker, least_load, "least_load");
BENCHMARK_CAPTURE(select_worker, consistent_hashing, "consistent_hashing");
BENCHMARK_CAPTURE(select_worker, prefix_hash, "prefix_hash");
BENCHMARK_CAPTURE(select_worker, cache_aware, "cache_aware");

}  // namespace
}  // namespace smg::bench
