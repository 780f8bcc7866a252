#include "observability/fleet_families.hpp"

#include <cassert>

#include "observability/family_registry.hpp"

namespace smg::observability {
namespace {

const std::vector<std::string> kByModel{"model"};
const std::vector<std::string> kByRank{"worker", "model", "dp_rank"};

/// In the order of FleetGauge.
const std::array<FamilyFacts, kFleetGaugeCount>& all_facts() {
  static const std::array<FamilyFacts, kFleetGaugeCount> facts{{
      {"smg_cache_tree_chars", "Bytes of prompts in cache_aware's tree of texts, all holders.",
       kByModel},
      {"smg_cache_tree_tokens", "Tokens in cache_aware's tree of tokens, all holders.", kByModel},
      {"smg_cache_tree_tenants",
       "Workers that cache_aware knows to hold prompts, by tree (string, token).",
       {"model", "tree"}},
      {"smg_cache_placement_entries", "Prompt heads in cache_aware's hash index.", kByModel},
      {"smg_manual_policy_cache_entries", "Pinned keys of manual and of sticky sessions."},
      {"smg_worker_routing_keys_active",
       "Routing keys with requests in service at the worker.",
       {"worker"}},
      {"smg_engine_running_requests", "Running requests, as the engine reports them.", kByRank},
      {"smg_engine_waiting_requests", "Waiting requests, as the engine reports them.", kByRank},
      {"smg_engine_token_usage", "Share of the KV cache in use, as the engine reports it.",
       kByRank},
      {"smg_engine_gen_throughput", "Generated tokens per second, as the engine reports them.",
       kByRank},
      {"smg_engine_cache_hit_rate", "Prefix cache hit rate, as the engine reports it.", kByRank},
  }};
  return facts;
}

}  // namespace

FleetFamilies::FleetFamilies(FamilyRegistry& registry) {
  for (std::size_t i = 0; i < kFleetGaugeCount; ++i) {
    families_[i].family = &register_family<prometheus::Gauge>(registry, all_facts()[i]);
  }
}

void FleetFamilies::show(const std::vector<FleetReading>& readings) {
  const std::lock_guard lock(mutex_);
  ++shows_;
  for (const FleetReading& reading : readings) {
    const auto index = static_cast<std::size_t>(reading.gauge);
    Family& family = families_[index];
    Series& series = family.series[reading.labels];
    if (series.gauge == nullptr) {
      const auto& names = all_facts()[index].labels;
      assert(names.size() == reading.labels.size());
      prometheus::Labels labels;
      for (std::size_t i = 0; i < names.size(); ++i) labels.emplace(names[i], reading.labels[i]);
      series.gauge = &family.family->Add(labels);
    }
    series.gauge->Set(reading.value);
    series.shown = shows_;
  }
  for (Family& family : families_) {
    std::erase_if(family.series, [&](const auto& entry) {
      if (entry.second.shown == shows_) return false;
      family.family->Remove(entry.second.gauge);
      return true;
    });
  }
}

}  // namespace smg::observability
