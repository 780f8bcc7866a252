#include <algorithm>
#include <array>

#include <xxhash.h>

#include "routing/policies.hpp"
#include "routing/prompt_units.hpp"
#include "routing/ring_walk.hpp"
#include <smg/routing/hints.hpp>

namespace smg::routing {
namespace {

constexpr std::size_t kCharactersPerToken = 4;
constexpr std::size_t kMaxCharacterBytes = 4;

/// As it goes on the ring: 16 hexadecimal digits.
std::array<char, 16> hex_of(std::uint64_t hash) noexcept {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<char, 16> hex{};
  for (std::size_t i = 0; i < hex.size(); ++i) hex[i] = kDigits[(hash >> (60 - 4 * i)) & 0xF];
  return hex;
}

/// Places a request on the hash ring by the beginning of its prompt, unless the worker there has
/// too much to do. Hashes a key or tokens of the headers, or a prompt that something else has read;
/// never asks for the body to be read.
class PrefixHashPolicy final : public Policy {
 public:
  PrefixHashPolicy(const config::PrefixHash& tuning, std::vector<std::uint64_t> boundaries,
                   PolicyTalliesPtr tallies)
      : tuning_(tuning), boundaries_(std::move(boundaries)), tallies_(std::move(tallies)) {}

  Worker* pick(std::span<Worker* const> eligible, const RoutingRequest& request) override {
    if (eligible.size() == 1) return eligible.front();
    const auto prefixes = prefixes_of(request);
    auto& branches = tallies_->prefix_hash;
    if (prefixes.empty()) {
      branches.count(PrefixHashBranch::NoRoutingKey);
      return least_of(eligible);
    }
    const double limit = load_limit(eligible);
    Worker* deepest = nullptr;
    for (const auto prefix : prefixes) {
      const auto hex = hex_of(XXH3_64bits(prefix.data(), prefix.size()));
      Worker* const owner = owner_on_ring({hex.data(), hex.size()}, eligible, request);
      if (owner->load() <= limit) {
        branches.count(deepest == nullptr ? PrefixHashBranch::RingHit
                                          : PrefixHashBranch::LoadBalanceWalk);
        return owner;
      }
      if (deepest == nullptr) deepest = owner;
    }
    Worker* const least = least_of(eligible);
    const bool falls_back = least->load() <= limit;
    branches.count(falls_back ? PrefixHashBranch::FallbackLeastLoad : PrefixHashBranch::RingHit);
    return falls_back ? least : deepest;
  }

  std::string_view name() const noexcept override { return "prefix_hash"; }
  bool uses_ring() const noexcept override { return true; }
  PromptUse prompt_use() const noexcept override {
    const auto deepest = boundaries_.empty() ? 0 : boundaries_.back();
    constexpr std::size_t kBytesPerToken = kCharactersPerToken * kMaxCharacterBytes;
    const auto tokens =
        std::min(std::max(deepest, tuning_.token_count), PromptUse::kWhole / kBytesPerToken);
    return {.tokens = true, .text_bytes = tokens * kBytesPerToken};
  }

 private:
  /// The first of the least loaded: the same prompt should not wander more than load makes it.
  static Worker* least_of(std::span<Worker* const> eligible) noexcept {
    return *std::min_element(eligible.begin(), eligible.end(),
                             [](Worker* a, Worker* b) { return a->load() < b->load(); });
  }

  /// Above it a worker is passed by; the request itself counts into the mean.
  double load_limit(std::span<Worker* const> eligible) const noexcept {
    double total = 0;
    for (const Worker* worker : eligible) total += worker->load();
    const double mean = (total + 1) / static_cast<double>(eligible.size());
    return std::max(mean * tuning_.load_factor,
                    mean + static_cast<double>(tuning_.balance_abs_threshold));
  }

  /// What to hash, the longest first; nothing if the request has nothing to go by.
  std::vector<std::string_view> prefixes_of(const RoutingRequest& request) const {
    if (is_valid_routing_key(request.routing_key)) return {request.routing_key};
    const bool has_tokens = !request.tokens.empty();
    if (!has_tokens && request.text.empty()) return {};
    const auto head = [&](std::uint64_t tokens) {
      return has_tokens ? bytes_of(request.tokens.first(
                              std::min<std::size_t>(tokens, request.tokens.size())))
                        : first_characters(request.text, tokens * kCharactersPerToken);
    };
    std::vector<std::string_view> prefixes;
    for (const auto boundary : boundaries_) {
      const auto whole = head(boundary);
      const bool reached = has_tokens ? request.tokens.size() >= boundary
                                      : count_characters(whole) >= boundary * kCharactersPerToken;
      if (reached) prefixes.insert(prefixes.begin(), whole);
    }
    if (prefixes.empty()) prefixes.push_back(head(tuning_.token_count));
    return prefixes;
  }

  const config::PrefixHash tuning_;
  const std::vector<std::uint64_t> boundaries_;
  const PolicyTalliesPtr tallies_;
};

}  // namespace

std::unique_ptr<Policy> make_prefix_hash_policy(const config::PrefixHash& tuning,
                                                std::vector<std::uint64_t> boundaries,
                                                PolicyTalliesPtr tallies) {
  return std::make_unique<PrefixHashPolicy>(tuning, std::move(boundaries), std::move(tallies));
}

}  // namespace smg::routing
