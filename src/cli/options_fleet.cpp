#include "cli/options.hpp"

namespace smg::cli {
namespace {

/// Adds `alias=canonical` words; an alias may be repeated, but not for another model.
void add_aliases(std::map<std::string, std::string>& aliases, const Words& words) {
  Words reasons;
  for (const auto& word : words) {
    const auto equals = word.find('=');
    if (equals == std::string::npos) {
      reasons.push_back(word + " - Must be <alias>=<canonical>");
      continue;
    }
    const auto canonical = word.substr(equals + 1);
    const auto [known, added] = aliases.try_emplace(word.substr(0, equals), canonical);
    if (!added && known->second != canonical) {
      reasons.push_back(word + " - The alias already stands for " + known->second);
    }
  }
  if (!reasons.empty()) throw ValueError(std::move(reasons));
}

}  // namespace

void bind_fleet(FlagSet& flags, config::Fleet& fleet) {
  flags.group("Workers and policy");
  flags.list({"--worker-urls", "URL...", "workers registered at the start"}, fleet.worker_urls);
  flags.choice({"--policy", "POLICY", "how a worker is chosen"},
               {"random", "round_robin", "passthrough", "cache_aware", "power_of_two", "least_load",
                "manual", "consistent_hashing", "prefix_hash"},
               fleet.policy, [&fleet](const std::string& policy) { fleet.policy = policy; });
  flags.add(
      {{"--model-alias", "ALIAS=MODEL...", "further names of models, for clients"},
       "none",
       Arity::AtLeastOne,
       [&aliases = fleet.model_aliases](const Words& words) { add_aliases(aliases, words); }});
  flags.toggle({"--dp-aware", "", "route to the data-parallel ranks of a worker"}, fleet.dp_aware);
  flags.duration(
      {"--worker-startup-timeout-secs", "SECS", "patience with a worker that cannot be registered"},
      fleet.startup_timeout);
  flags.duration({"--worker-startup-delay", "SECS", "wait before the first attempt"},
                 fleet.startup_delay);
  flags.duration({"--worker-startup-check-interval", "SECS", "longest wait between attempts"},
                 fleet.startup_check_interval);
  flags.text({"--state-file", "FILE",
              "workers of the API are kept here, with their keys, and come back after a restart"},
             fleet.state_file);
  flags.number({"--job-queue-capacity", "N", "registrations and removals that may wait"},
               fleet.job_queue_capacity);
  flags.number({"--job-queue-concurrency", "N", "registrations and removals that run at once"},
               fleet.job_queue_concurrency);
}

void bind_cache_aware(FlagSet& flags, config::CacheAware& cache) {
  flags.group("Tuning of cache_aware");
  flags.real({"--cache-threshold,--cache-match-threshold", "X",
              "share of a prompt, 0 to 1, above which a worker that has seen it is preferred"},
             cache.match_threshold);
  flags.number({"--balance-abs-threshold,--spill-abs-threshold", "N",
                "load above the mean that, with the next, turns affinity into balancing"},
               cache.balance_abs_threshold);
  flags.real({"--balance-rel-threshold,--spill-rel-threshold", "X",
              "load as a multiple of the mean, at least 1"},
             cache.balance_rel_threshold);
  flags.real({"--balance-token-usage-threshold", "X",
              "spread of cache usage that abandons affinity; 1: off"},
             cache.balance_token_usage_threshold);
  flags.real(
      {"--overload-token-usage-threshold", "X", "cache usage that abandons affinity; 1: off"},
      cache.overload_token_usage_threshold);
  flags.real({"--overlap-decay", "X", "weakens affinity to busy workers"}, cache.overlap_decay);
  flags.real({"--selection-temperature", "X",
              "randomness of the choice among workers that have seen a prompt"},
             cache.selection_temperature);
  flags.duration({"--eviction-interval-secs", "SECS",
                  "accepted, without effect: the index is trimmed as it grows"},
                 cache.eviction_interval);
  flags.number({"--max-tree-size", "N", "characters indexed for each model"}, cache.max_tree_size);
  flags.number({"--block-size", "N", "tokens of one cache block"}, cache.block_size);
  flags.add({{"--cache-boundaries", "N,N...",
              "ascending prompt lengths, in tokens, that are hashed; with prefix_hash as well"},
             "none",
             Arity::Any,
             [&boundaries = cache.boundaries](const Words& words) {
               boundaries.clear();
               for (const auto& word : words) {
                 for (const auto& number : split_list(word)) {
                   boundaries.push_back(to_unsigned(number, UINT64_MAX));
                 }
               }
             }});
  flags.choice({"--cache-index", "KIND", "how prompts are indexed"}, {"tree", "hash"}, cache.index,
               [&cache](const std::string& index) { cache.index = index; });
  flags.duration({"--cache-ttl-secs", "SECS", "life of a hashed placement"}, cache.ttl);
}

void bind_load_monitor(FlagSet& flags, config::LoadMonitor& monitor,
                       config::WorkerOverload& overload) {
  flags.group("Load of workers");
  flags.duration({"--load-monitor-interval", "SECS", "time between load reports"},
                 monitor.interval);
  flags.toggle({"--disable-load-monitoring", "", "ask for load only if the policy needs it"},
               monitor.disabled);
  flags.add({{"--worker-overload-waiting-requests", "N",
              "waiting requests from which a worker is overloaded and gets no more"},
             "unset",
             Arity::One,
             [&overload](const Words& words) {
               overload.waiting_requests = to_unsigned(words.front(), UINT64_MAX);
             }});
  flags.add({{"--worker-overload-token-usage", "X",
              "cache usage from which a worker is overloaded, at most 1"},
             "unset",
             Arity::One,
             [&overload](const Words& words) { overload.token_usage = to_double(words.front()); }});
  flags.toggle({"--worker-overload-protection", "",
                "the same with a cache usage of 0.9, unless another one is set"},
               overload.protection);
}

}  // namespace smg::cli
