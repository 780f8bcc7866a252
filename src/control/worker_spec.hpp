#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/pod_facts.hpp"
#include <smg/config/worker_url.hpp>
#include <smg/control/control_result.hpp>
#include <smg/routing/pd_pairing.hpp>

namespace smg::control {

/// What is known of one model of a worker. Empty and absent fields are not shown.
struct ModelCard {
  std::string id;
  std::string display_name;
  std::vector<std::string> aliases;
  std::vector<std::string> model_type;
  std::string hf_model_type;
  std::vector<std::string> architectures;
  std::string provider;
  std::optional<std::uint64_t> context_length;
  std::string tokenizer_path;
  std::string chat_template;
  std::string reasoning_parser;
  std::string tool_parser;
};

/// `health` of a worker spec: what is given beats the flags, field by field. Times in seconds.
struct HealthOverrides {
  std::optional<std::uint32_t> timeout_secs;
  std::optional<std::uint32_t> check_interval_secs;
  std::optional<std::uint32_t> success_threshold;
  std::optional<std::uint32_t> failure_threshold;
  std::optional<bool> disable_health_check;
  std::optional<std::uint32_t> drain_settle_secs;
};

/// `http_pool` of a worker spec (the page, "Connection Pools").
struct PoolOverrides {
  std::optional<std::uint32_t> pool_max_idle_per_host;
  std::optional<std::uint32_t> pool_idle_timeout_secs;
  std::optional<std::uint32_t> timeout_secs;
  std::optional<std::uint32_t> connect_timeout_secs;
  std::optional<bool> http2;
};

/// `resilience` of a worker spec. The retry fields have no effect (the page): the two lists
/// say what a status tells the breaker, not what is retried.
struct ResilienceOverrides {
  std::optional<std::uint32_t> max_retries;
  std::optional<std::uint32_t> initial_backoff_ms;
  std::optional<std::uint32_t> max_backoff_ms;
  std::optional<double> backoff_multiplier;
  std::optional<double> jitter_factor;
  std::optional<bool> disable_retry;
  std::optional<std::uint32_t> cb_failure_threshold;
  std::optional<std::uint32_t> cb_success_threshold;
  std::optional<std::uint32_t> cb_timeout_secs;
  std::optional<std::uint32_t> cb_window_secs;
  std::optional<bool> disable_circuit_breaker;
  std::optional<std::vector<std::uint16_t>> retryable_status_codes;
  std::optional<std::vector<std::uint16_t>> capacity_status_codes;
};

/// `overload` of a worker spec: what is given beats the flags, field by field.
struct OverloadOverrides {
  std::optional<std::uint32_t> waiting_requests;
  std::optional<double> token_usage;
};

/// A worker as an operator describes it (policies_and_workers 5.2). Fields that a worker of this
/// version cannot have are checked and not kept.
struct WorkerSpec {
  config::WorkerUrl url;
  std::vector<ModelCard> models;
  routing::WorkerRole role = routing::WorkerRole::Regular;
  std::optional<std::uint16_t> bootstrap_port;
  std::string kv_connector;      ///< empty: none
  std::string kv_engine_id;      ///< empty: none
  std::string pairing_protocol;  ///< empty: found out from what is known of the worker
  std::string runtime_type;      ///< empty: to be found out
  std::map<std::string, std::string> labels;
  std::uint32_t priority = 50;
  double cost = 1.0;
  std::string api_key;                         ///< a secret
  std::uint32_t max_connection_attempts = 20;  ///< shown only
  std::optional<HealthOverrides> health;
  std::optional<PoolOverrides> http_pool;
  std::optional<ResilienceOverrides> resilience;
  std::optional<std::uint32_t> load_monitor_interval_secs;
  std::optional<OverloadOverrides> overload;
  std::optional<PodFacts> pod;  ///< of a worker that discovery has found
};

/// The body of PATCH: what it names is changed, labels and health field by field.
struct WorkerPatch {
  std::optional<std::uint32_t> priority;
  std::optional<double> cost;
  std::optional<std::map<std::string, std::string>> labels;
  std::optional<std::string> api_key;
  std::optional<HealthOverrides> health;

  void apply_to(WorkerSpec& spec) const;
};

class JsonFields;

/// Reads the fields of a spec as parse_worker_spec does; errors stay in `fields`.
void read_worker_spec(JsonFields& fields, WorkerSpec& spec);

/// Reads the body of POST and PUT. Unknown fields are ignored, null counts as absent. Errors: 400
/// for what is no JSON, for impossible values and for what this version does not support; 422 for a
/// wrong type or a missing `url`.
[[nodiscard]] ControlResult<WorkerSpec> parse_worker_spec(std::string_view json);

/// Reads the body of PATCH. Errors: as of parse_worker_spec.
[[nodiscard]] ControlResult<WorkerPatch> parse_worker_patch(std::string_view json);

}  // namespace smg::control
