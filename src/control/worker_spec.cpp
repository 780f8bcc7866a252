#include "control/worker_spec.hpp"

#include <algorithm>
#include <array>

#include "control/json_fields.hpp"

namespace smg::control {
namespace {

constexpr std::string_view kLaterVersion = "not supported yet";

constexpr std::array<std::string_view, 8> kRuntimeTypes{
    "unspecified", "sglang", "vllm", "trtllm", "mlx", "tokenspeed", "generic", "external"};

template <std::size_t N>
bool is_one_of(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, word) != words.end();
}

/// A word of a closed list, of which this version knows only the first.
template <std::size_t N>
void check_word(JsonFields& fields, const char* name,
                const std::array<std::string_view, N>& words) {
  std::string word(words.front());
  fields.read(name, word);
  if (!is_one_of(word, words)) {
    fields.refuse(
        {422, "UNPROCESSABLE_ENTITY", "Field '" + std::string(name) + "' has an unknown value"});
  } else if (word != words.front()) {
    fields.refuse_value(name, kLaterVersion);
  }
}

template <class Number>
void require_positive(JsonFields& fields, const char* name, const std::optional<Number>& number) {
  if (number && *number < 1) fields.refuse_value(name, "must be at least 1");
}

void read_url(JsonFields& fields, config::WorkerUrl& out) {
  std::optional<std::string> given;
  fields.read("url", given);
  if (fields.error()) return;
  if (!given) {
    fields.refuse({422, "UNPROCESSABLE_ENTITY", "Field 'url' is missing"});
    return;
  }
  const std::string prefix =
      "Invalid value for field 'worker_url': " + config::without_user_info(*given) + " - ";
  auto url = config::parse_worker_url(*given);
  if (given->empty()) {
    fields.refuse(bad_request(prefix + "URL cannot be empty"));
  } else if (!url) {
    fields.refuse(bad_request(prefix + url.error().message));
  } else if (url->scheme != "http" && url->scheme != "https") {
    fields.refuse(bad_request(prefix + url->scheme + ":// is " + std::string(kLaterVersion)));
  } else {
    out = std::move(*url);
  }
}

void read_card(JsonFields& fields, ModelCard& card) {
  fields.read("id", card.id);
  fields.read("display_name", card.display_name);
  fields.read("aliases", card.aliases);
  fields.read("model_type", card.model_type);
  fields.read("hf_model_type", card.hf_model_type);
  fields.read("architectures", card.architectures);
  fields.read("provider", card.provider);
  std::optional<std::uint32_t> context_length;
  fields.read("context_length", context_length);
  if (context_length) card.context_length = *context_length;
  fields.read("tokenizer_path", card.tokenizer_path);
  fields.read("chat_template", card.chat_template);
  fields.read("reasoning_parser", card.reasoning_parser);
  fields.read("tool_parser", card.tool_parser);
  if (!fields.error() && card.id.empty()) fields.refuse_value("id", "must not be empty");
}

void read_health(JsonFields& fields, HealthOverrides& health) {
  fields.read("timeout_secs", health.timeout_secs);
  fields.read("check_interval_secs", health.check_interval_secs);
  fields.read("success_threshold", health.success_threshold);
  fields.read("failure_threshold", health.failure_threshold);
  fields.read("disable_health_check", health.disable_health_check);
  fields.read("drain_settle_secs", health.drain_settle_secs);
  require_positive(fields, "timeout_secs", health.timeout_secs);
  require_positive(fields, "check_interval_secs", health.check_interval_secs);
  require_positive(fields, "success_threshold", health.success_threshold);
  require_positive(fields, "failure_threshold", health.failure_threshold);
}

void read_pool(JsonFields& fields, PoolOverrides& pool) {
  fields.read("pool_max_idle_per_host", pool.pool_max_idle_per_host);
  fields.read("pool_idle_timeout_secs", pool.pool_idle_timeout_secs);
  fields.read("timeout_secs", pool.timeout_secs);
  fields.read("connect_timeout_secs", pool.connect_timeout_secs);
  fields.read("http2", pool.http2);
  require_positive(fields, "timeout_secs", pool.timeout_secs);
  require_positive(fields, "connect_timeout_secs", pool.connect_timeout_secs);
}

void read_resilience(JsonFields& fields, ResilienceOverrides& resilience) {
  fields.read("max_retries", resilience.max_retries);
  fields.read("initial_backoff_ms", resilience.initial_backoff_ms);
  fields.read("max_backoff_ms", resilience.max_backoff_ms);
  fields.read("backoff_multiplier", resilience.backoff_multiplier);
  fields.read("jitter_factor", resilience.jitter_factor);
  fields.read("disable_retry", resilience.disable_retry);
  fields.read("cb_failure_threshold", resilience.cb_failure_threshold);
  fields.read("cb_success_threshold", resilience.cb_success_threshold);
  fields.read("cb_timeout_secs", resilience.cb_timeout_secs);
  fields.read("cb_window_secs", resilience.cb_window_secs);
  fields.read("disable_circuit_breaker", resilience.disable_circuit_breaker);
  fields.read("retryable_status_codes", resilience.retryable_status_codes);
  fields.read("capacity_status_codes", resilience.capacity_status_codes);
  if (resilience.disable_circuit_breaker.value_or(false)) return;
  require_positive(fields, "cb_failure_threshold", resilience.cb_failure_threshold);
  require_positive(fields, "cb_success_threshold", resilience.cb_success_threshold);
  require_positive(fields, "cb_timeout_secs", resilience.cb_timeout_secs);
}

void read_overload(JsonFields& fields, OverloadOverrides& overload) {
  fields.read("waiting_requests", overload.waiting_requests);
  fields.read("token_usage", overload.token_usage);
  require_positive(fields, "waiting_requests", overload.waiting_requests);
  const double usage = overload.token_usage.value_or(1);
  if (!(usage > 0 && usage <= 1)) {
    fields.refuse_value("token_usage", "must be above 0 and at most 1");
  }
}

void read_role(JsonFields& fields, routing::WorkerRole& role) {
  std::string word(name_of(role));
  fields.read("worker_type", word);
  const auto known = std::ranges::find(
      routing::kWorkerRoles, word, [](routing::WorkerRole r) { return std::string(name_of(r)); });
  if (known != routing::kWorkerRoles.end()) {
    role = *known;
  } else if (word == "encode") {
    fields.refuse_value("worker_type", kLaterVersion);
  } else {
    fields.refuse({422, "UNPROCESSABLE_ENTITY", "Field 'worker_type' has an unknown value"});
  }
}

void check_cost(JsonFields& fields, double cost) {
  if (cost < 0) fields.refuse_value("cost", "must not be negative");
}

/// The key becomes part of a field line, so nothing may end that line.
void check_api_key(JsonFields& fields, std::string_view key) {
  const bool printable = std::ranges::all_of(key, [](char c) { return c >= ' ' && c <= '~'; });
  if (!printable) fields.refuse_value("api_key", "must be printable ASCII");
}

void read_runtime(JsonFields& fields, std::string& runtime) {
  fields.read("runtime", runtime);
  fields.read("runtime_type", runtime);
  if (!runtime.empty() && !is_one_of(runtime, kRuntimeTypes)) {
    fields.refuse({422, "UNPROCESSABLE_ENTITY", "Field 'runtime_type' has an unknown value"});
  }
  if (runtime == "unspecified") runtime.clear();
}

void read_patch(JsonFields& fields, WorkerPatch& patch) {
  fields.read("priority", patch.priority);
  fields.read("cost", patch.cost);
  if (patch.cost) check_cost(fields, *patch.cost);
  fields.read("labels", patch.labels);
  fields.read("api_key", patch.api_key);
  if (patch.api_key) check_api_key(fields, *patch.api_key);
  fields.object("health", [&](JsonFields& f) { read_health(f, patch.health.emplace()); });
}

/// Parses a document that must be an object and hands it to `read`.
template <class T, class Read>
ControlResult<T> parse_object(std::string_view json, Read read) {
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  if (const auto code = parser.parse(simdjson::padded_string(json)).get(document)) {
    return bad_request(std::string("Failed to parse the request body as JSON: ") +
                       simdjson::error_message(code));
  }
  simdjson::dom::object object;
  if (document.get(object)) {
    return ControlError{422, "UNPROCESSABLE_ENTITY", "The request body must be a JSON object"};
  }
  JsonFields fields(object, {});
  T content;
  read(fields, content);
  if (fields.error()) return *fields.error();
  return content;
}

template <class T>
void merge(std::optional<T>& into, const std::optional<T>& from) {
  if (from) into = from;
}

}  // namespace

void WorkerPatch::apply_to(WorkerSpec& spec) const {
  if (priority) spec.priority = *priority;
  if (cost) spec.cost = *cost;
  if (api_key) spec.api_key = *api_key;
  if (labels) {
    for (const auto& [name, content] : *labels) spec.labels.insert_or_assign(name, content);
  }
  if (!health) return;
  if (!spec.health) spec.health.emplace();
  merge(spec.health->timeout_secs, health->timeout_secs);
  merge(spec.health->check_interval_secs, health->check_interval_secs);
  merge(spec.health->success_threshold, health->success_threshold);
  merge(spec.health->failure_threshold, health->failure_threshold);
  merge(spec.health->disable_health_check, health->disable_health_check);
  merge(spec.health->drain_settle_secs, health->drain_settle_secs);
}

void read_worker_spec(JsonFields& fields, WorkerSpec& spec) {
  read_url(fields, spec.url);
  fields.objects("models",
                 [&](JsonFields& inner) { read_card(inner, spec.models.emplace_back()); });
  read_role(fields, spec.role);
  fields.read("bootstrap_port", spec.bootstrap_port);
  fields.read("kv_connector", spec.kv_connector);
  fields.read("kv_engine_id", spec.kv_engine_id);
  fields.read("pairing_protocol", spec.pairing_protocol);
  check_word(fields, "connection_mode", std::array<std::string_view, 3>{"http", "grpc", "zmq"});
  read_runtime(fields, spec.runtime_type);
  fields.read("labels", spec.labels);
  fields.read("priority", spec.priority);
  fields.read("cost", spec.cost);
  check_cost(fields, spec.cost);
  fields.read("api_key", spec.api_key);
  check_api_key(fields, spec.api_key);
  fields.read("max_connection_attempts", spec.max_connection_attempts);
  fields.object("health", [&](JsonFields& f) { read_health(f, spec.health.emplace()); });
  fields.object("http_pool", [&](JsonFields& f) { read_pool(f, spec.http_pool.emplace()); });
  fields.object("resilience",
                [&](JsonFields& f) { read_resilience(f, spec.resilience.emplace()); });
  fields.read("load_monitor_interval_secs", spec.load_monitor_interval_secs);
  require_positive(fields, "load_monitor_interval_secs", spec.load_monitor_interval_secs);
  fields.object("overload", [&](JsonFields& f) { read_overload(f, spec.overload.emplace()); });
}

ControlResult<WorkerSpec> parse_worker_spec(std::string_view json) {
  return parse_object<WorkerSpec>(json, read_worker_spec);
}

ControlResult<WorkerPatch> parse_worker_patch(std::string_view json) {
  return parse_object<WorkerPatch>(json, read_patch);
}

}  // namespace smg::control
