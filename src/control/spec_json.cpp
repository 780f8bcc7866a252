#include "control/spec_json.hpp"

namespace smg::control {
namespace {

void text_unless_empty(JsonWriter& json, std::string_view name, const std::string& text) {
  if (!text.empty()) json.field(name, text);
}

template <class T>
void list_unless_empty(JsonWriter& json, std::string_view name, const std::vector<T>& items) {
  if (!items.empty()) json.list(name, items);
}

template <class T>
void if_given(JsonWriter& json, std::string_view name, const std::optional<T>& content) {
  if (content) json.field(name, *content);
}

template <class T>
void if_given(JsonWriter& json, std::string_view name,
              const std::optional<std::vector<T>>& content) {
  if (content) json.list(name, *content);
}

void write_health(JsonWriter& json, const HealthOverrides& health) {
  json.key("health").begin_object();
  if_given(json, "timeout_secs", health.timeout_secs);
  if_given(json, "check_interval_secs", health.check_interval_secs);
  if_given(json, "success_threshold", health.success_threshold);
  if_given(json, "failure_threshold", health.failure_threshold);
  if_given(json, "disable_health_check", health.disable_health_check);
  if_given(json, "drain_settle_secs", health.drain_settle_secs);
  json.end_object();
}

void write_pool(JsonWriter& json, const PoolOverrides& pool) {
  json.key("http_pool").begin_object();
  if_given(json, "pool_max_idle_per_host", pool.pool_max_idle_per_host);
  if_given(json, "pool_idle_timeout_secs", pool.pool_idle_timeout_secs);
  if_given(json, "timeout_secs", pool.timeout_secs);
  if_given(json, "connect_timeout_secs", pool.connect_timeout_secs);
  if_given(json, "http2", pool.http2);
  json.end_object();
}

void write_resilience(JsonWriter& json, const ResilienceOverrides& resilience) {
  json.key("resilience").begin_object();
  if_given(json, "max_retries", resilience.max_retries);
  if_given(json, "initial_backoff_ms", resilience.initial_backoff_ms);
  if_given(json, "max_backoff_ms", resilience.max_backoff_ms);
  if_given(json, "backoff_multiplier", resilience.backoff_multiplier);
  if_given(json, "jitter_factor", resilience.jitter_factor);
  if_given(json, "disable_retry", resilience.disable_retry);
  if_given(json, "cb_failure_threshold", resilience.cb_failure_threshold);
  if_given(json, "cb_success_threshold", resilience.cb_success_threshold);
  if_given(json, "cb_timeout_secs", resilience.cb_timeout_secs);
  if_given(json, "cb_window_secs", resilience.cb_window_secs);
  if_given(json, "disable_circuit_breaker", resilience.disable_circuit_breaker);
  if_given(json, "retryable_status_codes", resilience.retryable_status_codes);
  if_given(json, "capacity_status_codes", resilience.capacity_status_codes);
  json.end_object();
}

void write_overload(JsonWriter& json, const OverloadOverrides& overload) {
  json.key("overload").begin_object();
  if_given(json, "waiting_requests", overload.waiting_requests);
  if_given(json, "token_usage", overload.token_usage);
  json.end_object();
}

}  // namespace

void write_card(JsonWriter& json, const ModelCard& card) {
  json.begin_object().field("id", card.id);
  text_unless_empty(json, "display_name", card.display_name);
  list_unless_empty(json, "aliases", card.aliases);
  list_unless_empty(json, "model_type", card.model_type);
  text_unless_empty(json, "hf_model_type", card.hf_model_type);
  list_unless_empty(json, "architectures", card.architectures);
  text_unless_empty(json, "provider", card.provider);
  if_given(json, "context_length", card.context_length);
  text_unless_empty(json, "tokenizer_path", card.tokenizer_path);
  text_unless_empty(json, "chat_template", card.chat_template);
  text_unless_empty(json, "reasoning_parser", card.reasoning_parser);
  text_unless_empty(json, "tool_parser", card.tool_parser);
  json.end_object();
}

void write_labels(JsonWriter& json, const std::map<std::string, std::string>& labels) {
  if (labels.empty()) return;
  json.key("labels").begin_object();
  for (const auto& [name, content] : labels) json.field(name, content);
  json.end_object();
}

void write_overrides(JsonWriter& json, const WorkerSpec& spec) {
  if (spec.health) write_health(json, *spec.health);
  if (spec.http_pool) write_pool(json, *spec.http_pool);
  if (spec.resilience) write_resilience(json, *spec.resilience);
  if_given(json, "load_monitor_interval_secs", spec.load_monitor_interval_secs);
  if (spec.overload) write_overload(json, *spec.overload);
}

void write_spec(JsonWriter& json, const WorkerSpec& spec) {
  json.begin_object().field("url", spec.url.text);
  if (!spec.models.empty()) {
    json.key("models").begin_array();
    for (const auto& card : spec.models) write_card(json, card);
    json.end_array();
  }
  if (spec.role != routing::WorkerRole::Regular) json.field("worker_type", name_of(spec.role));
  if_given(json, "bootstrap_port", spec.bootstrap_port);
  text_unless_empty(json, "kv_connector", spec.kv_connector);
  text_unless_empty(json, "kv_engine_id", spec.kv_engine_id);
  text_unless_empty(json, "pairing_protocol", spec.pairing_protocol);
  text_unless_empty(json, "runtime_type", spec.runtime_type);
  write_labels(json, spec.labels);
  json.field("priority", spec.priority).field("cost", spec.cost);
  text_unless_empty(json, "api_key", spec.api_key);
  json.field("max_connection_attempts", spec.max_connection_attempts);
  write_overrides(json, spec);
  json.end_object();
}

}  // namespace smg::control
