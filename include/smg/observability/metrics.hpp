#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <smg/observability/discovery_metrics.hpp>
#include <smg/observability/fleet_readings.hpp>
#include <smg/observability/metric_facts.hpp>
#include <smg/observability/worker_series.hpp>

namespace smg::observability {

/// Seconds; ages of requests in service are counted between these.
inline constexpr std::uint32_t kInflightAgeBounds[] = {30,   60,   180,   300,   600,  1200,
                                                       3600, 7200, 14400, 28800, 86400};

/// What tells one router series from another. The strings need to live only for the call.
struct RouterLabels {
  std::string_view model;     ///< a registered id, or `unknown` (ruling 29)
  std::string_view endpoint;  ///< RouteFacts::endpoint
  bool streaming = false;  ///< a response to `"stream": true`; label of smg_router_requests_total
  std::string_view backend = "regular";  ///< `pd` where two workers share a request
};

/// The gateway's metrics, one method for each event. Owned by the composition root, one for the
/// process.
///
/// Thread-safe. Each thread counts in memory of its own, which an exposition adds up: after a
/// thread's first sample of a series, an event takes no lock and allocates nothing. What is shown
/// or set instead of counted takes short locks. A series is in the exposition from its first sample
/// on. Series are kept for ever, so the caller bounds the values of labels: route templates for
/// paths, the usual methods or `OTHER`, registered models, codes of the gateway itself.
class Metrics {
 public:
  /// An elapsed time; every std::chrono duration converts.
  using Elapsed = std::chrono::duration<double>;

  /// `duration_buckets`: upper bounds in seconds, ascending, of all histograms but that of
  /// backoffs. `version`: label of smg_build_info.
  Metrics(const std::vector<double>& duration_buckets, std::string_view version);
  Metrics(const Metrics&) = delete;
  Metrics& operator=(const Metrics&) = delete;
  ~Metrics();

  /// smg_http_requests_total: a request matched the route template `path`.
  void count_http_request(std::string_view method, std::string_view path);
  /// smg_http_responses_total. `error_code`: the gateway's own X-SMG-Error-Code, else empty.
  void count_http_response(std::string_view path, int status, std::string_view error_code);
  /// smg_http_request_duration_seconds: until the response head.
  void observe_http_duration(std::string_view method, std::string_view path, Elapsed elapsed);
  /// smg_http_connections_active: requests, not connections, in service until their last byte.
  void http_request_began();
  void http_request_ended();

  /// The gauges of admission, with a sample from now on: there is a limit.
  void show_admission();
  /// smg_http_rate_limit_total: a request got a permit to run, or was turned away.
  void count_rate_limit(bool allowed);
  /// smg_admission_inflight: requests that hold a permit.
  void admission_permit_taken();
  void admission_permit_returned();
  /// smg_admission_queue_depth: requests that wait for one.
  void admission_wait_began();
  void admission_wait_ended();
  /// smg_admission_queue_rejected_total. `reason`: full or timeout.
  void count_admission_rejected(std::string_view reason);

  /// smg_router_requests_total: once for each request, whatever the number of attempts.
  void count_router_request(const RouterLabels& labels);
  /// smg_router_request_duration_seconds: successes only; `streaming` is not a label.
  void observe_router_duration(const RouterLabels& labels, Elapsed elapsed);
  /// smg_router_ttft_seconds, likewise: until the first byte of a streamed answer.
  void observe_ttft(const RouterLabels& labels, Elapsed elapsed);
  /// smg_router_request_errors_total. `error_type`: GatewayError::error_type, error_type_of.
  void count_router_error(const RouterLabels& labels, std::string_view error_type);
  /// smg_router_upstream_responses_total: one for each attempt, failures made here included.
  void count_upstream_response(int status, std::string_view error_code);
  /// smg_router_request_body_path_total: one for each request on an eligible route.
  void count_body_path(std::string_view path, std::string_view reason);
  /// smg_router_request_buffers_released_early_bytes_total; 0 bytes make no sample.
  void add_released_bytes(std::uint64_t bytes);
  /// smg_router_upstream_send_retries_total: the one-shot resend.
  void count_send_retry();

  // `type` is the worker's role in requests, as in the workers API.

  /// smg_worker_selection_total: one for each attempt that found a worker.
  void count_worker_selection(std::string_view type, std::string_view model,
                              std::string_view policy);
  /// smg_worker_errors_total.
  void count_worker_error(std::string_view type, std::string_view error_type);
  /// smg_worker_health_checks_total.
  void count_health_check(std::string_view type, bool success);
  /// smg_worker_retries_total: one for each repeated attempt.
  void count_retry(std::string_view type, std::string_view endpoint);
  /// smg_worker_retries_exhausted_total: the last attempt failed too.
  void count_retries_exhausted(std::string_view type, std::string_view endpoint);
  /// smg_worker_retry_backoff_seconds. `attempt`: number of the coming repetition, from 1.
  void observe_retry_backoff(std::uint32_t attempt, Elapsed backoff);
  /// smg_worker_pool_size: workers registered for the model; 0 stays visible.
  void set_worker_pool_size(std::string_view type, std::string_view model, std::uint64_t workers);
  /// smg_workers_overloaded: workers of the model that their load reports rule out now.
  void set_workers_overloaded(std::string_view model, std::uint64_t workers);
  /// smg_worker_overload_shed_total: answered with WorkersOverloaded; `stage` is `selection`.
  void count_overload_shed(std::string_view stage);
  /// smg_*_policy_branch_total: `total` decisions of `policy` so far; 0 makes no sample.
  void show_branch(std::string_view policy, std::string_view branch, std::uint64_t total);
  /// smg_routing_key_source_total, likewise.
  void show_key_source(std::string_view source, std::uint64_t total);
  /// smg_cache_aware_match_ratio: how many so far were 0, and in each further tenth up to 1.
  void show_match_ratios(std::span<const std::uint64_t> counts, double sum);
  /// All gauges that are read off the fleet: they replace those of the last call.
  void show_fleet(const std::vector<FleetReading>& readings);
  /// smg_http_inflight_request_age_count: for each of kInflightAgeBounds, and of those beyond.
  void show_inflight_ages(std::span<const std::uint64_t> counts);
  /// smg_event_loop_delay_seconds: what one turn of an io thread's loop kept work waiting for.
  void observe_loop_delay(unsigned thread, Elapsed delay);
  /// smg_pd_ttft_seconds: of a pair, until the decode worker's answer. `runtime`: the engine's.
  void observe_pd_ttft(std::string_view model, std::string_view runtime, Elapsed elapsed);
  /// smg_pd_prefill_duration_seconds: from a dispatch to the end of the prefill worker's answer.
  void observe_pd_prefill(std::string_view model, std::string_view runtime, Elapsed elapsed);
  /// smg_pd_kv_connector_mode_total: how a cache is handed over, one for each vLLM dispatch.
  void count_kv_transfer(std::string_view mode);
  /// smg_pd_kv_transfer_failures_total: the prefill worker handed nothing over.
  void count_kv_transfer_failure();
  /// smg_trace_spans_exported_total, smg_trace_spans_dropped_total: what became of spans.
  void count_spans_exported(std::uint64_t spans);
  void count_spans_dropped(std::string_view reason, std::uint64_t spans);
  /// The series of one worker. The handle may outlive the Metrics.
  [[nodiscard]] std::unique_ptr<WorkerSeries> open_worker_series(std::string_view url);

  [[nodiscard]] DiscoveryMetrics& discovery() noexcept;
  /// All metrics, by name, with a sample or without.
  [[nodiscard]] std::vector<MetricFacts> metrics() const;
  /// All families that have a sample, in the text format 0.0.4 of Prometheus.
  [[nodiscard]] std::string exposition() const;

 private:
  void show_process() const;

  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace smg::observability
