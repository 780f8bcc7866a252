// Compares the policies on one made-up traffic, without sockets: how much of the prompts the
// workers find in their caches, how evenly the requests are spread, and what a choice costs.

#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <deque>
#include <list>
#include <random>
#include <string>
#include <unordered_map>
#include <vector>

#include "unit/routing/simulated_fleet.hpp"
#include <smg/routing/selection.hpp>

namespace {

using namespace smg::routing;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kWorkers = 100;
constexpr std::size_t kRequests = 100000;
constexpr std::size_t kInFlight = 1600;
constexpr std::size_t kBlock = 64;  // characters, sixteen tokens or so
constexpr std::size_t kBlocksPerWorker = 1U << 15U;

/// A worker's prefix cache: blocks by the hash of all text up to their end, the last used kept.
class WorkerCache {
 public:
  /// How many of the prompt's blocks were there; afterwards all are.
  std::size_t prefill(const std::vector<std::uint64_t>& blocks) {
    std::size_t hits = 0;
    bool warm = true;
    for (const auto block : blocks) {
      const auto found = by_hash_.find(block);
      warm = warm && found != by_hash_.end();
      hits += warm ? 1 : 0;
      if (found != by_hash_.end()) {
        order_.splice(order_.begin(), order_, found->second);
      } else {
        order_.push_front(block);
        by_hash_.emplace(block, order_.begin());
      }
    }
    for (; order_.size() > kBlocksPerWorker; order_.pop_back()) by_hash_.erase(order_.back());
    return hits;
  }

 private:
  std::list<std::uint64_t> order_;
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> by_hash_;
};

std::vector<std::uint64_t> blocks_of(std::string_view prompt) {
  std::vector<std::uint64_t> blocks;
  std::uint64_t hash = 0;
  for (; prompt.size() >= kBlock; prompt.remove_prefix(kBlock)) {
    hash = hash * 0x9E3779B97F4A7C15U + std::hash<std::string_view>{}(prompt.substr(0, kBlock));
    blocks.push_back(hash);
  }
  return blocks;
}

std::string words(std::mt19937& random, std::size_t length) {
  std::string text(length, ' ');
  for (char& c : text) c = "etaoin shrdlu ETAOINSHRDLU,.\n"[random() % 29];
  return text;
}

/// Conversations that grow turn by turn, each on one of a few system prompts, some much more used.
class Traffic {
 public:
  Traffic() {
    for (std::size_t i = 0; i < kSystems; ++i)
      systems_.push_back(words(random_, 512 + random_() % 3584));
    conversations_.resize(kConversations);
    for (auto& conversation : conversations_) restart(conversation);
  }

  struct Prompt {
    std::string_view text;
    const std::string& session;
  };

  Prompt next() {
    auto& conversation = conversations_[random_() % kConversations];
    if (conversation.text.size() > 8192) restart(conversation);
    conversation.text += words(random_, 100 + random_() % 700);
    return {conversation.text, conversation.session};
  }

 private:
  static constexpr std::size_t kSystems = 200;
  static constexpr std::size_t kConversations = 5000;

  struct Conversation {
    std::string session;
    std::string text;
  };

  void restart(Conversation& conversation) {
    const double draw = static_cast<double>(random_()) / static_cast<double>(std::mt19937::max());
    const auto system = static_cast<std::size_t>(std::pow(draw, 3) * (kSystems - 1));
    conversation = {"session-" + std::to_string(++sessions_), systems_[system]};
  }

  std::mt19937 random_{42};
  std::vector<std::string> systems_;
  std::vector<Conversation> conversations_;
  std::size_t sessions_ = 0;
};

void simulate(std::string_view name, std::shared_ptr<Policy> policy) {
  SimulatedFleet fleet(kWorkers, std::move(policy));
  Traffic traffic;
  std::unordered_map<const Worker*, std::size_t> number;
  for (std::size_t i = 0; i < kWorkers; ++i) number[&fleet[i]] = i;
  std::vector<WorkerCache> caches(kWorkers);
  std::vector<std::size_t> requests(kWorkers);
  std::deque<std::unique_ptr<Selection>> in_flight;
  std::size_t hits = 0;
  std::size_t blocks = 0;
  double imbalance = 0;
  std::size_t samples = 0;
  std::vector<double> nanos;
  for (std::size_t i = 0; i < kRequests; ++i) {
    const auto prompt = traffic.next();
    const RoutingRequest request{.model = "m", .routing_key = prompt.session, .text = prompt.text};
    const auto begin = Clock::now();
    auto selected = fleet.select(request, begin);
    nanos.push_back(std::chrono::duration<double, std::nano>(Clock::now() - begin).count());
    const auto worker = number[&(*selected)->worker()];
    in_flight.push_back(std::move(*selected));
    if (in_flight.size() > kInFlight) in_flight.pop_front();
    const auto pieces = blocks_of(prompt.text);
    hits += caches[worker].prefill(pieces);
    blocks += pieces.size();
    ++requests[worker];
    if (i % 1000 != 999) continue;
    std::uint32_t most = 0;
    for (std::size_t w = 0; w < kWorkers; ++w) most = std::max(most, fleet[w].load());
    imbalance += static_cast<double>(most) * kWorkers / static_cast<double>(in_flight.size());
    ++samples;
  }
  const auto most = *std::max_element(requests.begin(), requests.end());
  // The median: on a shared machine a mean says what else was running.
  std::sort(nanos.begin(), nanos.end());
  std::printf("%-32.*s %8.1f %% %14.2f %14.2f %10.0f\n", static_cast<int>(name.size()), name.data(),
              100.0 * static_cast<double>(hits) / static_cast<double>(blocks),
              imbalance / static_cast<double>(samples),
              static_cast<double>(most) * kWorkers / kRequests, nanos[kRequests / 2]);
}

/// cache_aware at 8 KiB, with a tree at its budget of 64 MiB.
void time_large_prompts() {
  constexpr std::size_t kPrompt = 8192;
  constexpr std::size_t kFill = 16000;
  SimulatedFleet fleet(kWorkers, make_policy("cache_aware"));
  std::mt19937 random(1);
  std::vector<std::string> systems;
  systems.reserve(200);
  for (int i = 0; i < 200; ++i) systems.push_back(words(random, 2048));
  std::vector<std::string> prompts;
  for (std::size_t i = 0; i < kFill; ++i) {
    prompts.push_back(systems[random() % systems.size()] + words(random, kPrompt - 2048));
    static_cast<void>(fleet.select({.text = prompts.back()}));
  }
  std::vector<double> micros;
  for (int i = 0; i < 20000; ++i) {
    // Half are the next turn of a recent prompt, half are new but for the system prompt.
    std::string prompt = prompts[kFill - 1 - random() % 9000];
    const auto changed = i % 2 == 0 ? kPrompt - 400 : std::size_t{2048};
    prompt.replace(changed, std::string::npos, words(random, kPrompt - changed));
    const auto begin = Clock::now();
    const auto selected = fleet.select({.text = prompt}, begin);
    micros.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  std::sort(micros.begin(), micros.end());
  double sum = 0;
  for (const double value : micros) sum += value;
  std::printf(
      "\ncache_aware, 8 KiB prompts, full 64 MiB tree: mean %.1f us, median %.1f us, p99 %.1f us\n",
      sum / static_cast<double>(micros.size()), micros[micros.size() / 2],
      micros[micros.size() * 99 / 100]);
}

}  // namespace

int main() {
  std::printf("%zu workers, %zu requests, %zu in flight\n\n", kWorkers, kRequests, kInFlight);
  std::printf("%-32s %10s %14s %14s %10s\n", "policy", "cache hits", "load max/mean",
              "total max/mean", "ns/pick");
  for (const std::string_view name :
       {"random", "round_robin", "passthrough", "least_load", "power_of_two", "manual",
        "consistent_hashing", "prefix_hash", "cache_aware"}) {
    simulate(name, make_policy(name));
  }
  smg::config::GatewayConfig tight;
  tight.cache_aware.balance_abs_threshold = 8;
  simulate("cache_aware, abs threshold 8", make_policy("cache_aware", tight));
  time_large_prompts();
  return 0;
}
