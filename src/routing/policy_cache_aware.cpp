#include <algorithm>
#include <cmath>

#include <xxhash.h>

#include "routing/expected_wait.hpp"
#include "routing/hash_index.hpp"
#include "routing/policies.hpp"
#include "routing/prefix_trees.hpp"
#include "routing/prompt_units.hpp"
#include "routing/random_number.hpp"

namespace smg::routing {
namespace {

using Workers = std::span<Worker* const>;
using Branch = CacheAwareBranch;

constexpr std::size_t kMaxCandidates = 8;
constexpr std::size_t kPageBytes = 16 * sizeof(std::uint32_t);
constexpr double kCharactersPerToken = 4;

/// The eligible workers that hold a prompt, in the order of the holders.
std::vector<Worker*> warm_among(Workers eligible, std::span<const std::uint32_t> holders) {
  std::vector<Worker*> warm;
  for (const auto serial : holders) {
    if (warm.size() == kMaxCandidates) break;
    const auto found = std::find_if(eligible.begin(), eligible.end(), [&](const Worker* worker) {
      return worker->serial() == serial;
    });
    if (found != eligible.end()) warm.push_back(*found);
  }
  return warm;
}

std::uint64_t hash_of(std::span<const std::uint32_t> head) noexcept {
  return XXH3_64bits_withSeed(head.data(), head.size_bytes(), head.size());
}

/// Sends requests with a common beginning to the same worker, whose cache then holds it, unless it
/// has far more to do than the others. A prompt that is new to everybody goes where the wait is
/// shortest.
class CacheAwarePolicy final : public Policy {
 public:
  CacheAwarePolicy(const config::CacheAware& tuning, PolicyTalliesPtr tallies)
      : tuning_(tuning),
        tallies_(std::move(tallies)),
        texts_(1, tuning.max_tree_size),
        tokens_(kPageBytes, tuning.max_tree_size),
        heads_(tuning.ttl) {}

  Worker* pick(Workers eligible, const RoutingRequest& request) override {
    return tuning_.index == "hash" ? pick_by_hash(eligible, request)
                                   : pick_by_tree(eligible, request);
  }
  std::string_view name() const noexcept override { return "cache_aware"; }
  bool reads_prompt() const noexcept override { return true; }
  PolicyMemory memory() const override {
    PolicyMemory memory;
    if (tuning_.index == "hash") {
      memory.placements = heads_.size();
      return memory;
    }
    auto texts = texts_.contents();
    auto tokens = tokens_.contents();
    memory.texts = {texts.bytes, std::move(texts.holders)};
    memory.tokens = {tokens.bytes / sizeof(std::uint32_t), std::move(tokens.holders)};
    return memory;
  }
  PromptUse prompt_use() const noexcept override {
    return {.tokens = true, .text_bytes = tuning_.index == "hash" ? 0 : PromptUse::kWhole};
  }

 private:
  /// Tokens and texts do not know of each other.
  Worker* pick_by_tree(Workers eligible, const RoutingRequest& request) {
    const bool has_tokens = !request.tokens.empty();
    PrefixTree& tree = has_tokens ? tokens_ : texts_;
    const auto prompt = has_tokens ? bytes_of(request.tokens) : request.text;
    Worker* chosen = nullptr;
    if (eligible.size() > 1) {
      auto branch = Branch::KvPressureExpectedWait;
      if (!cache_is_short(eligible, request.now)) {
        const auto match = tree.match(prompt);
        const double share = matched_share(prompt, match.bytes, has_tokens);
        tallies_->match_share.observe(share);
        branch = Branch::ExpectedWaitFallback;
        if (share > tuning_.match_threshold) {
          chosen =
              warm_worker(eligible, {match.holders.data(), match.holder_count}, request, branch);
        }
      }
      tallies_->cache_aware.count(branch);
    }
    if (chosen == nullptr) chosen = shortest_wait(eligible, {}, request.now);
    tree.insert(prompt, chosen->serial());
    return chosen;
  }

  Worker* pick_by_hash(Workers eligible, const RoutingRequest& request) {
    const auto& boundaries = tuning_.boundaries;
    const auto length = request.tokens.size();
    const auto end = std::upper_bound(boundaries.begin(), boundaries.end(), length);
    Worker* chosen = nullptr;
    auto branch = end == boundaries.begin() ? Branch::ShortRequest : Branch::HashExpectedWait;
    if (eligible.size() > 1 && cache_is_short(eligible, request.now)) {
      branch = Branch::KvPressureExpectedWait;
    } else if (eligible.size() > 1) {
      for (auto at = end; at != boundaries.begin();) {
        const auto holders = heads_.holders(hash_of(request.tokens.first(*--at)), request.now);
        const auto warm = warm_among(eligible, holders);
        if (warm.empty()) continue;
        Worker* const least = least_loaded(warm);
        const bool spills = is_overloaded(*least, eligible);
        branch = spills ? Branch::HashSpill : Branch::HashHit;
        if (!spills) chosen = least;
        break;
      }
    }
    if (eligible.size() > 1) tallies_->cache_aware.count(branch);
    if (chosen == nullptr) chosen = shortest_wait(eligible, {}, request.now);
    for (auto at = boundaries.begin(); at != end; ++at) {
      heads_.record(hash_of(request.tokens.first(*at)), chosen->serial(), request.now);
    }
    return chosen;
  }

  /// Of the whole prompt: characters of a text, tokens in whole pages.
  static double matched_share(std::string_view prompt, std::size_t bytes, bool is_tokens) noexcept {
    if (bytes == 0) return 0;
    if (is_tokens) return static_cast<double>(bytes) / static_cast<double>(prompt.size());
    std::size_t matched = count_characters(prompt.substr(0, bytes));
    const std::size_t all = matched + count_characters(prompt.substr(bytes));
    const bool cuts_character = bytes < prompt.size() && (prompt[bytes] & '\xC0') == '\x80';
    if (cuts_character) --matched;
    return static_cast<double>(matched) / static_cast<double>(all);
  }

  /// nullptr: the holders are not eligible, or the one to take is overloaded. `branch`: what that
  /// comes to, if anything.
  Worker* warm_worker(Workers eligible, std::span<const std::uint32_t> holders,
                      const RoutingRequest& request, Branch& branch) const {
    const auto warm = warm_among(eligible, holders);
    if (warm.empty()) return nullptr;
    const bool is_plain = tuning_.overlap_decay <= 0 && tuning_.selection_temperature <= 0;
    Worker* const chosen = is_plain ? least_loaded(warm) : best_scored(warm, request);
    const bool spills = is_overloaded(*chosen, eligible);
    branch = spills ? Branch::Spill : Branch::TreeMatch;
    return spills ? nullptr : chosen;
  }

  /// A worker's score falls with the blocks that wait there beyond those of the least busy
  /// candidate, in units of the request. The best one is taken, by load among equals; with a
  /// temperature, one at random, weighted by its score.
  Worker* best_scored(const std::vector<Worker*>& warm, const RoutingRequest& request) const {
    std::vector<double> scores;
    scores.reserve(warm.size());
    for (const Worker* worker : warm) scores.push_back(waiting_tokens(*worker, request.now));
    const double least_waiting = *std::min_element(scores.begin(), scores.end());
    const double tokens =
        request.tokens.empty()
            ? static_cast<double>(count_characters(request.text)) / kCharactersPerToken
            : static_cast<double>(request.tokens.size());
    const auto block = static_cast<double>(tuning_.block_size);
    const double request_blocks = std::max(std::ceil(tokens / block), 1.0);
    for (double& score : scores) {
      const double excess = (score - least_waiting) / block;
      score = 1 / (1 + tuning_.overlap_decay * excess / request_blocks);
    }
    const auto [low, high] = std::minmax_element(scores.begin(), scores.end());
    if (tuning_.selection_temperature > 0) return drawn(warm, scores, *low, *high);
    std::vector<Worker*> best;
    for (std::size_t i = 0; i < warm.size(); ++i) {
      if (scores[i] >= *high) best.push_back(warm[i]);
    }
    return least_loaded(best);
  }

  /// Softmax over the scores, spread to 0..1.
  Worker* drawn(const std::vector<Worker*>& warm, std::vector<double> scores, double low,
                double high) const {
    const double spread = high > low ? high - low : 1;
    double total = 0;
    for (double& score : scores) {
      score = std::exp(((score - low) / spread - 1) / tuning_.selection_temperature);
      total += score;
    }
    constexpr std::uint32_t kSteps = 1U << 30U;
    double draw = total * static_cast<double>(random_below(kSteps)) / kSteps;
    for (std::size_t i = 0; i < warm.size(); ++i) {
      if (draw < scores[i]) return warm[i];
      draw -= scores[i];
    }
    return warm.back();
  }

  static double waiting_tokens(const Worker& worker, TimePoint now) noexcept {
    const auto report = worker.board().report(now);
    return report ? static_cast<double>(report->waiting_uncached_tokens) : 0;
  }

  /// Far above the mean, absolutely and relatively; the request itself does not count.
  bool is_overloaded(const Worker& worker, Workers eligible) const noexcept {
    double total = 0;
    for (const Worker* other : eligible) total += other->load();
    const double mean = total / static_cast<double>(eligible.size());
    const double load = worker.load();
    return load > mean * tuning_.balance_rel_threshold &&
           load > mean + static_cast<double>(tuning_.balance_abs_threshold);
  }

  /// The workers' caches are so full, or so unevenly full, that affinity would not pay.
  bool cache_is_short(Workers eligible, TimePoint now) const noexcept {
    const bool is_off =
        tuning_.overload_token_usage_threshold >= 1 && tuning_.balance_token_usage_threshold >= 1;
    if (is_off) return false;
    double hottest = 0;
    double coldest = 1;
    bool any = false;
    for (const Worker* worker : eligible) {
      const auto report = worker->board().report(now);
      if (!report) continue;
      any = true;
      hottest = std::max(hottest, report->token_usage);
      coldest = std::min(coldest, report->token_usage);
    }
    return any && (hottest > tuning_.overload_token_usage_threshold ||
                   hottest - coldest > tuning_.balance_token_usage_threshold);
  }

  const config::CacheAware tuning_;
  const PolicyTalliesPtr tallies_;
  PrefixTree texts_;
  PrefixTree tokens_;
  HashIndex heads_;
};

}  // namespace

std::unique_ptr<Policy> make_cache_aware_policy(const config::CacheAware& tuning,
                                                PolicyTalliesPtr tallies) {
  return std::make_unique<CacheAwarePolicy>(tuning, std::move(tallies));
}

}  // namespace smg::routing
