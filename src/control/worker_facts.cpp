#include "control/worker_facts.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <simdjson.h>

#include <smg/base/text.hpp>

namespace smg::control {
namespace {

using Labels = std::map<std::string, std::string>;

constexpr std::string_view kUnknownModel = "unknown";
/// --worker-overload-protection alone.
constexpr double kProtectedTokenUsage = 0.9;
/// An engine that claims more is not believed.
constexpr std::uint64_t kMostRanks = 1024;

std::string first_label(const Labels& labels, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = labels.find(name);
    if (found != labels.end() && !found->second.empty()) return found->second;
  }
  return {};
}

Labels merged_labels(const WorkerSpec& spec, const DiscoveredWorker& discovered) {
  Labels labels = discovered.labels;
  if (spec.pod) {
    labels["smg.ai/pod-name"] = spec.pod->name;
    labels["smg.ai/pod-uid"] = spec.pod->uid;
  }
  for (const auto& [name, content] : spec.labels) labels.insert_or_assign(name, content);
  return labels;
}

/// The label's list, or its text as the only element.
std::vector<std::string> list_label(const Labels& labels, const char* name) {
  const std::string text = first_label(labels, {name});
  simdjson::dom::parser parser;
  simdjson::dom::array items;
  std::vector<std::string> list;
  if (text.empty()) return list;
  if (parser.parse(simdjson::padded_string(text)).get(items)) return {text};
  for (const auto item : items) {
    std::string_view element;
    if (!item.get(element)) list.emplace_back(element);
  }
  return list;
}

bool is_reranker(const std::vector<std::string>& architectures) {
  return std::ranges::any_of(architectures, [](const std::string& name) {
    return name.ends_with("ForSequenceClassification") || name.find("Rerank") != std::string::npos;
  });
}

std::vector<std::string> model_types(const Labels& labels,
                                     const std::vector<std::string>& architectures) {
  if (first_label(labels, {"is_embedding"}) == "true" ||
      first_label(labels, {"is_generation"}) == "false") {
    return {is_reranker(architectures) ? "rerank" : "embeddings"};
  }
  std::vector<std::string> types{"chat", "completions", "responses", "tools"};
  if (first_label(labels, {"has_image_understanding"}) == "true") types.emplace_back("vision");
  return types;
}

/// What the labels say fills the gaps of a card.
void complete(ModelCard& card, const Labels& labels) {
  if (card.architectures.empty()) card.architectures = list_label(labels, "architectures");
  if (card.model_type.empty()) card.model_type = model_types(labels, card.architectures);
  if (card.hf_model_type.empty()) card.hf_model_type = first_label(labels, {"model_type"});
  if (card.tokenizer_path.empty()) card.tokenizer_path = first_label(labels, {"tokenizer_path"});
  if (!card.context_length) {
    card.context_length = text::parse_decimal(
        first_label(labels, {"context_length", "max_context_length", "max_model_len",
                             "max_total_tokens", "max_seq_len"}));
  }
}

void add_card(std::vector<ModelCard>& cards, ModelCard card) {
  const bool known =
      std::ranges::any_of(cards, [&](const ModelCard& other) { return other.id == card.id; });
  if (!known && !card.id.empty()) cards.push_back(std::move(card));
}

std::vector<ModelCard> discovered_cards(const Labels& labels, const DiscoveredWorker& discovered) {
  std::vector<ModelCard> cards;
  ModelCard main;
  main.id = first_label(labels, {"served_model_name", "model_id", "model_path"});
  add_card(cards, std::move(main));
  for (const auto& model : discovered.models) {
    ModelCard card;
    card.id = model.id;
    card.context_length = model.max_model_len;
    add_card(cards, std::move(card));
  }
  if (cards.empty()) cards.emplace_back().id = kUnknownModel;
  return cards;
}

/// --model-id-from: the worker's own name for its main model goes on as an alias.
void rename_main(std::vector<ModelCard>& cards, const std::string& id) {
  ModelCard& main = cards.front();
  if (main.id == id) return;
  const std::string own = std::exchange(main.id, id);
  if (own != kUnknownModel && std::ranges::find(main.aliases, own) == main.aliases.end()) {
    main.aliases.push_back(own);
  }
  cards.erase(std::remove_if(std::next(cards.begin()), cards.end(),
                             [&](const ModelCard& card) { return card.id == id; }),
              cards.end());
}

/// --model-alias holds for every worker of the canonical model.
void add_aliases(ModelCard& card, const Labels& model_aliases) {
  for (const auto& [alias, canonical] : model_aliases) {
    if (canonical != card.id || std::ranges::find(card.aliases, alias) != card.aliases.end()) {
      continue;
    }
    card.aliases.push_back(alias);
  }
}

routing::LoadSettings load_settings(const WorkerSpec& spec, const config::GatewayConfig& config) {
  routing::LoadSettings settings{config.load_monitor.interval, {}};
  if (spec.load_monitor_interval_secs) {
    settings.interval = config::Seconds(*spec.load_monitor_interval_secs);
  }
  auto& limits = settings.overload;
  limits = {config.worker_overload.waiting_requests, config.worker_overload.token_usage};
  if (config.worker_overload.protection && !limits.token_usage) {
    limits.token_usage = kProtectedTokenUsage;
  }
  if (!spec.overload) return settings;
  if (spec.overload->waiting_requests) limits.waiting_requests = spec.overload->waiting_requests;
  if (spec.overload->token_usage) limits.token_usage = spec.overload->token_usage;
  return settings;
}

routing::PdFacts pd_facts(const WorkerSpec& spec, const routing::WorkerFacts& facts) {
  const std::string& host = spec.url.host;
  routing::PdFacts pd;
  pd.role = spec.role;
  pd.host = host.find(':') == std::string::npos ? host : "[" + host + "]";
  pd.bootstrap_port = spec.bootstrap_port;
  pd.kv_connector = spec.kv_connector;
  pd.kv_engine_id = spec.kv_engine_id;
  pd.pairing = spec.pairing_protocol.empty()
                   ? routing::PairingKey(facts.runtime_type, spec.kv_connector, facts.labels)
                   : routing::PairingKey(spec.pairing_protocol);
  return pd;
}

config::CircuitBreaker breaker_settings(const WorkerSpec& spec,
                                        const config::CircuitBreaker& flags) {
  config::CircuitBreaker settings = flags;
  if (!spec.resilience) return settings;
  const auto& own = *spec.resilience;
  settings.failure_threshold = own.cb_failure_threshold.value_or(flags.failure_threshold);
  settings.success_threshold = own.cb_success_threshold.value_or(flags.success_threshold);
  if (own.cb_timeout_secs) settings.timeout = config::Seconds(*own.cb_timeout_secs);
  if (own.cb_window_secs) settings.window = config::Seconds(*own.cb_window_secs);
  settings.disabled = own.disable_circuit_breaker.value_or(flags.disabled);
  return settings;
}

routing::BreakerStatuses breaker_statuses(const WorkerSpec& spec) {
  routing::BreakerStatuses statuses;
  if (!spec.resilience) return statuses;
  const auto& own = *spec.resilience;
  if (own.retryable_status_codes) statuses.failures.emplace(*own.retryable_status_codes);
  if (own.capacity_status_codes) statuses.capacity.emplace(*own.capacity_status_codes);
  return statuses;
}

}  // namespace

std::vector<ModelCard> model_cards(const WorkerSpec& spec, const DiscoveredWorker& discovered,
                                   const config::Fleet& flags) {
  const Labels labels = merged_labels(spec, discovered);
  std::vector<ModelCard> cards;
  for (const auto& card : spec.models) add_card(cards, card);
  if (cards.empty()) cards = discovered_cards(labels, discovered);
  if (spec.pod && !spec.pod->model_id.empty()) rename_main(cards, spec.pod->model_id);
  for (auto& card : cards) {
    complete(card, labels);
    add_aliases(card, flags.model_aliases);
  }
  return cards;
}

config::Health health_settings(const WorkerSpec& spec, const config::Health& flags) {
  config::Health settings = flags;
  if (!spec.health) return settings;
  const auto& own = *spec.health;
  if (own.timeout_secs) settings.timeout = config::Seconds(*own.timeout_secs);
  if (own.check_interval_secs) settings.interval = config::Seconds(*own.check_interval_secs);
  settings.failure_threshold = own.failure_threshold.value_or(flags.failure_threshold);
  settings.success_threshold = own.success_threshold.value_or(flags.success_threshold);
  settings.disabled = own.disable_health_check.value_or(flags.disabled);
  return settings;
}

const std::string& key_for(const WorkerSpec& spec, const config::Access& access) {
  return spec.api_key.empty() ? access.api_key : spec.api_key;
}

upstream::Origin origin_of(const config::WorkerUrl& url) {
  return {url.host, url.port, url.authority(), url.scheme == "https"};
}

upstream::PoolSettings pool_settings(const WorkerSpec& spec, const config::Upstream& flags) {
  upstream::PoolSettings settings{flags.pool_idle_timeout, flags.pool_max_idle_per_host,
                                  flags.connect_timeout};
  if (!spec.http_pool) return settings;
  const auto& own = *spec.http_pool;
  if (own.pool_idle_timeout_secs) {
    settings.idle_timeout = config::Seconds(*own.pool_idle_timeout_secs);
  }
  if (own.connect_timeout_secs) {
    settings.connect_timeout = config::Seconds(*own.connect_timeout_secs);
  }
  settings.max_idle = own.pool_max_idle_per_host.value_or(settings.max_idle);
  return settings;
}

routing::WorkerFacts worker_facts(const std::string& id, const WorkerSpec& spec,
                                  const DiscoveredWorker& discovered,
                                  const config::GatewayConfig& config) {
  routing::WorkerFacts facts;
  facts.id = id;
  facts.url = spec.url.text;
  for (auto& card : model_cards(spec, discovered, config.fleet)) {
    facts.models.push_back({std::move(card.id), std::move(card.aliases)});
  }
  facts.labels = merged_labels(spec, discovered);
  facts.api_key = key_for(spec, config.access);
  facts.runtime_type = spec.runtime_type.empty() ? discovered.runtime_type : spec.runtime_type;
  facts.pd = pd_facts(spec, facts);
  facts.priority = spec.priority;
  facts.cost = spec.cost;
  facts.request_timeout = config.limits.request_timeout;
  if (spec.http_pool && spec.http_pool->timeout_secs) {
    facts.request_timeout = config::Seconds(*spec.http_pool->timeout_secs);
  }
  if (spec.health && spec.health->drain_settle_secs) {
    facts.drain_settle = config::Seconds(*spec.health->drain_settle_secs);
  }
  facts.health = health_settings(spec, config.health);
  facts.circuit_breaker = breaker_settings(spec, config.circuit_breaker);
  facts.breaker_statuses = breaker_statuses(spec);
  facts.load = load_settings(spec, config);
  return facts;
}

std::uint32_t rank_count(const DiscoveredWorker& discovered, const config::Fleet& flags) {
  if (!flags.dp_aware) return 1;
  const auto size = text::parse_decimal(first_label(discovered.labels, {"dp_size"}));
  if (!size || *size <= 1 || *size > kMostRanks) return 1;
  return static_cast<std::uint32_t>(*size);
}

void become_rank(routing::WorkerFacts& facts, std::string id, std::uint32_t rank,
                 std::uint32_t ranks) {
  facts.id = std::move(id);
  facts.rank = {facts.url, rank, ranks};
  facts.url += "@" + std::to_string(rank);
  facts.mutates_body = true;
}

}  // namespace smg::control
