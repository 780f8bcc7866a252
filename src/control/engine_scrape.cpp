#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "control/engine_load.hpp"
#include "control/exposition.hpp"
#include <smg/base/text.hpp>

/// The load of engines that report it in their metrics only.
namespace smg::control {
namespace {

constexpr double kLargestCount = 1e15;

/// A gauge and its place. Several samples of one rank (a label per model, say)
/// count by the largest.
struct Gauge {
  std::string_view name;
  void (*put)(RankLoad& rank, double value);
  bool essential = false;  ///< without one of these the exposition says nothing of the load
};

template <auto Member>
void put(RankLoad& rank, double value) {
  auto& target = rank.*Member;
  target = std::max(target, static_cast<std::remove_reference_t<decltype(target)>>(value));
}

constexpr std::array<Gauge, 4> kVllm{{
    {"vllm:kv_cache_usage_perc", put<&RankLoad::token_usage>, true},
    {"vllm:gpu_cache_usage_perc", put<&RankLoad::token_usage>, true},
    {"vllm:num_requests_running", put<&RankLoad::num_running_reqs>},
    {"vllm:num_requests_waiting", put<&RankLoad::num_waiting_reqs>},
}};

/// Their names follow `sglang:` or `sglang_`.
constexpr std::array<Gauge, 6> kSglang{{
    {"token_usage", put<&RankLoad::token_usage>, true},
    {"num_running_reqs", put<&RankLoad::num_running_reqs>, true},
    {"num_queue_reqs", put<&RankLoad::num_waiting_reqs>},
    {"gen_throughput", put<&RankLoad::gen_throughput>},
    {"cache_hit_rate", put<&RankLoad::cache_hit_rate>},
    {"utilization", put<&RankLoad::utilization>},
}};

const Gauge* find_gauge(std::string_view runtime, std::string_view name) {
  const auto is_it = [&](const Gauge& gauge) { return gauge.name == name; };
  if (runtime == "vllm") {
    const auto* const found = std::ranges::find_if(kVllm, is_it);
    return found == kVllm.end() ? nullptr : found;
  }
  constexpr std::string_view kPrefix = "sglang";
  if (!name.starts_with(kPrefix) || name.size() <= kPrefix.size()) return nullptr;
  const char separator = name[kPrefix.size()];
  if (separator != ':' && separator != '_') return nullptr;
  name.remove_prefix(kPrefix.size() + 1);
  const auto* const found = std::ranges::find_if(kSglang, is_it);
  return found == kSglang.end() ? nullptr : found;
}

/// The number that a label holds; 0 if there is none.
std::uint32_t rank_label(std::string_view labels, std::string_view name) {
  const std::string opening = std::string(name) + "=\"";
  const auto at = labels.find(opening);
  if (at == labels.npos || (at > 0 && labels[at - 1] != ',' && labels[at - 1] != ' ')) return 0;
  const auto value = labels.substr(at + opening.size());
  const auto rank = text::parse_decimal(value.substr(0, value.find('"')));
  return rank && *rank <= UINT32_MAX ? static_cast<std::uint32_t>(*rank) : 0;
}

std::optional<double> sample_value(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value) || value < 0) return std::nullopt;
  return std::min(value, kLargestCount);
}

}  // namespace

std::optional<EngineLoad> parse_engine_metrics(std::string_view runtime,
                                               std::string_view exposition) {
  if (runtime != "vllm" && runtime != "sglang") return std::nullopt;
  const std::string_view label = runtime == "vllm" ? "engine" : "dp_rank";
  std::map<std::uint32_t, RankLoad> ranks;
  bool usable = false;
  while (!exposition.empty()) {
    const auto sample = parse_sample(take_line(exposition));
    const Gauge* const gauge = sample ? find_gauge(runtime, sample->name) : nullptr;
    const auto value = gauge != nullptr ? sample_value(sample->value) : std::nullopt;
    if (!value) continue;
    const auto number = rank_label(sample->labels, label);
    auto& rank = ranks[number];
    rank.dp_rank = number;
    gauge->put(rank, *value);
    usable = usable || gauge->essential;
  }
  if (!usable) return std::nullopt;
  EngineLoad load;
  for (auto& [number, rank] : ranks) {
    rank.num_total_reqs = rank.num_running_reqs + rank.num_waiting_reqs;
    load.ranks.push_back(rank);
  }
  return load;
}

}  // namespace smg::control
