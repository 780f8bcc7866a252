#include "smg/observability/metrics.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include <prometheus/text_serializer.h>

#include "observability/fleet_families.hpp"
#include "observability/process_readings.hpp"
#include "observability/series_family.hpp"
#include "observability/worker_families.hpp"

namespace smg::observability {
namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;
using prometheus::Labels;

const Labels kRouter{{"router_type", "http"}};
const Labels kRouterConnection{{"router_type", "http"}, {"connection_mode", "http"}};
const Labels kConnection{{"connection_mode", "http"}};
const Labels kPairs{{"backend_type", "pd"}};

/// Seconds. Finer than the durations' buckets where backoffs start, and ending at the longest
/// default.
const std::vector<double> kBackoffBounds{0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15,
                                         0.2,  0.3,  0.5,  0.75, 1,     1.5, 2,
                                         3,    5,    7.5,  10,   15,    20,  30};

/// Seconds.
const std::vector<double> kLoopDelayBounds{0.0001, 0.0005, 0.001, 0.005, 0.01,
                                           0.05,   0.1,    0.5,   1,     5};
const std::vector<double> kTenths{0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1};

FamilyFacts branch_facts(const std::string& policy) {
  return {"smg_" + policy + "_policy_branch_total",
          "How " + policy + " came to its worker.",
          {"branch"}};
}

/// A number as a label value, without allocating.
class Decimal {
 public:
  template <class Integer>
  explicit Decimal(Integer value) noexcept
      : end_(std::to_chars(digits_, digits_ + sizeof digits_, value).ptr) {}

  [[nodiscard]] std::string_view view() const noexcept {
    return {digits_, static_cast<std::size_t>(end_ - digits_)};
  }

 private:
  char digits_[24];
  const char* end_;
};

}  // namespace

struct Metrics::Families {
  explicit Families(const std::vector<double>& duration_buckets) : durations(duration_buckets) {}

  std::shared_ptr<FamilyRegistry> registry = std::make_shared<FamilyRegistry>();
  std::vector<double> durations;

  SeriesFamily<Counter> http_requests{
      *registry,
      {"smg_http_requests_total", "HTTP requests by method and route.", {"method", "path"}}};
  SeriesFamily<Counter> http_responses{*registry,
                                       {"smg_http_responses_total",
                                        "HTTP responses by route, status and gateway error code.",
                                        {"path", "status_code", "error_code"}}};
  SeriesFamily<Histogram> http_durations{*registry,
                                         {"smg_http_request_duration_seconds",
                                          "Time from a request to the head of its response.",
                                          {"method", "path"},
                                          {},
                                          durations}};
  SeriesFamily<Gauge> http_active{
      *registry, {"smg_http_connections_active", "HTTP requests in service, streams included."}};

  SeriesFamily<Counter> rate_limits{
      *registry,
      {"smg_http_rate_limit_total", "Requests admitted or turned away by the limit.", {"result"}}};
  SeriesFamily<Gauge> admission_inflight{
      *registry, {"smg_admission_inflight", "Requests that hold a permit to run."}};
  SeriesFamily<Gauge> admission_queue{
      *registry, {"smg_admission_queue_depth", "Requests that wait for a permit to run."}};
  SeriesFamily<Counter> admission_rejections{
      *registry,
      {"smg_admission_queue_rejected_total", "Requests that the queue turned away.", {"reason"}}};

  SeriesFamily<Counter> router_requests{*registry,
                                        {"smg_router_requests_total",
                                         "Requests routed to the fleet.",
                                         {"backend_type", "model", "endpoint", "streaming"},
                                         kRouterConnection}};
  SeriesFamily<Histogram> router_durations{*registry,
                                           {"smg_router_request_duration_seconds",
                                            "Time that successful routed requests took.",
                                            {"backend_type", "model", "endpoint"},
                                            kRouterConnection,
                                            durations}};
  SeriesFamily<Histogram> ttft{*registry,
                               {"smg_router_ttft_seconds",
                                "Time to the first byte of a streamed answer.",
                                {"backend_type", "model", "endpoint"},
                                kRouterConnection,
                                durations}};
  SeriesFamily<Counter> router_errors{*registry,
                                      {"smg_router_request_errors_total",
                                       "Routed requests that failed, by kind of error.",
                                       {"backend_type", "model", "endpoint", "error_type"},
                                       kRouterConnection}};
  SeriesFamily<Counter> upstream_responses{*registry,
                                           {"smg_router_upstream_responses_total",
                                            "Outcomes of attempts, by status and error code.",
                                            {"status_code", "error_code"},
                                            kRouter}};
  SeriesFamily<Counter> body_paths{*registry,
                                   {"smg_router_request_body_path_total",
                                    "Request bodies buffered or streamed, by the deciding rule.",
                                    {"path", "reason"}}};
  SeriesFamily<Counter> released_bytes{
      *registry,
      {"smg_router_request_buffers_released_early_bytes_total",
       "Bytes of request buffers freed at dispatch instead of at the response's end."}};
  SeriesFamily<Counter> send_retries{*registry,
                                     {"smg_router_upstream_send_retries_total",
                                      "Resends after a transport failure before any response.",
                                      {},
                                      kRouter}};

  SeriesFamily<Counter> selections{*registry,
                                   {"smg_worker_selection_total",
                                    "Workers selected, by model and policy.",
                                    {"worker_type", "model", "policy"},
                                    kConnection}};
  SeriesFamily<Counter> worker_errors{*registry,
                                      {"smg_worker_errors_total",
                                       "Attempts that failed at a worker, by kind of error.",
                                       {"worker_type", "error_type"},
                                       kConnection}};
  SeriesFamily<Counter> health_checks{*registry,
                                      {"smg_worker_health_checks_total",
                                       "Health checks of workers, by result.",
                                       {"worker_type", "result"}}};
  SeriesFamily<Counter> retries{
      *registry,
      {"smg_worker_retries_total", "Repeated attempts, by endpoint.", {"worker_type", "endpoint"}}};
  SeriesFamily<Counter> retries_exhausted{*registry,
                                          {"smg_worker_retries_exhausted_total",
                                           "Requests whose last attempt failed too.",
                                           {"worker_type", "endpoint"}}};
  SeriesFamily<Histogram> backoffs{*registry,
                                   {"smg_worker_retry_backoff_seconds",
                                    "Pauses before repeated attempts.",
                                    {"attempt"},
                                    {},
                                    kBackoffBounds}};
  SeriesFamily<Gauge> pool_sizes{*registry,
                                 {"smg_worker_pool_size",
                                  "Registered workers by model.",
                                  {"worker_type", "model"},
                                  kConnection}};

  SeriesFamily<Histogram> pd_ttft{*registry,
                                  {"smg_pd_ttft_seconds",
                                   "Time until a pair's decode worker answers.",
                                   {"model", "runtime"},
                                   kPairs,
                                   durations}};
  SeriesFamily<Histogram> pd_prefills{*registry,
                                      {"smg_pd_prefill_duration_seconds",
                                       "Time until a pair's prefill worker has answered.",
                                       {"model", "runtime"},
                                       kPairs,
                                       durations}};
  SeriesFamily<Counter> kv_transfers{*registry,
                                     {"smg_pd_kv_connector_mode_total",
                                      "Dispatches to vLLM pairs, by how the cache travels.",
                                      {"mode"}}};
  SeriesFamily<Counter> kv_failures{
      *registry,
      {"smg_pd_kv_transfer_failures_total", "Prefill workers that handed no cache over."}};

  SeriesFamily<Gauge> overloaded{*registry,
                                 {"smg_workers_overloaded",
                                  "Workers excluded by their own load reports, by model.",
                                  {"model"}}};
  SeriesFamily<Counter> overload_sheds{*registry,
                                       {"smg_worker_overload_shed_total",
                                        "Requests shed since all workers reported overload.",
                                        {"stage"}}};

  SeriesFamily<Counter> spans_exported{
      *registry,
      {"smg_trace_spans_exported_total", "Spans of traces that the collector has taken."}};
  SeriesFamily<Counter> spans_dropped{
      *registry,
      {"smg_trace_spans_dropped_total", "Spans of traces that were lost, by reason.", {"reason"}}};

  SeriesFamily<Gauge> build_info{
      *registry, {"smg_build_info", "Always 1; the version is a label.", {"version"}}};
  SeriesFamily<Gauge> resident{
      *registry, {"smg_process_resident_bytes", "Resident memory of the gateway process."}};
  // Under the names that Prometheus's own clients give them.
  SeriesFamily<Counter> cpu{
      *registry, {"process_cpu_seconds_total", "User and system CPU time of the process."}};
  SeriesFamily<Gauge> resident_too{
      *registry, {"process_resident_memory_bytes", "Resident memory of the process."}};
  SeriesFamily<Gauge> descriptors{*registry, {"process_open_fds", "Open file descriptors."}};
  SeriesFamily<Gauge> most_descriptors{
      *registry, {"process_max_fds", "Largest number of open file descriptors."}};
  SeriesFamily<Gauge> threads{*registry, {"process_threads", "Threads of the process."}};
  SeriesFamily<Gauge> started{
      *registry, {"process_start_time_seconds", "Start of the process, in seconds since 1970."}};
  SeriesFamily<Histogram> loop_delays{
      *registry,
      {"smg_event_loop_delay_seconds",
       "Time that an io thread's event loop keeps new work waiting, asked once a second.",
       {"thread"},
       {},
       kLoopDelayBounds}};
  SeriesFamily<Gauge> inflight_ages{*registry,
                                    {"smg_http_inflight_request_age_count",
                                     "HTTP requests in service by age in seconds, not cumulative.",
                                     {"gt", "le"}}};

  SeriesFamily<Counter> cache_aware_branches{*registry, branch_facts("cache_aware")};
  SeriesFamily<Counter> manual_branches{*registry, branch_facts("manual")};
  SeriesFamily<Counter> prefix_hash_branches{*registry, branch_facts("prefix_hash")};
  SeriesFamily<Counter> consistent_hashing_branches{*registry, branch_facts("consistent_hashing")};
  SeriesFamily<Counter> key_sources{*registry,
                                    {"smg_routing_key_source_total",
                                     "Keys of sticky sessions, by where they were found.",
                                     {"source"}}};
  SeriesFamily<Histogram> match_ratios{
      *registry,
      {"smg_cache_aware_match_ratio",
       "Share of a prompt that cache_aware's tree knew, of the requests that asked it.",
       {},
       {},
       kTenths}};
  FleetFamilies fleet{*registry};
  DiscoveryMetrics discovery{*registry, durations};

  std::shared_ptr<WorkerFamilies> workers = std::make_shared<WorkerFamilies>(registry);
};

Metrics::Metrics(const std::vector<double>& duration_buckets, std::string_view version)
    : families_(std::make_unique<Families>(duration_buckets)) {
  families_->build_info.at({version}).Set(1);
  families_->registry->before_collecting([this] { show_process(); });
}

Metrics::~Metrics() = default;

void Metrics::count_http_request(std::string_view method, std::string_view path) {
  families_->http_requests.count({method, path});
}

void Metrics::count_http_response(std::string_view path, int status, std::string_view error_code) {
  const Decimal code(status);
  families_->http_responses.count({path, code.view(), error_code});
}

void Metrics::observe_http_duration(std::string_view method, std::string_view path,
                                    Elapsed elapsed) {
  families_->http_durations.observe({method, path}, elapsed.count());
}

void Metrics::http_request_began() {
  families_->http_active.count({});
}

void Metrics::http_request_ended() {
  families_->http_active.count({}, -1);
}

void Metrics::show_admission() {
  families_->admission_inflight.count({}, 0);
  families_->admission_queue.count({}, 0);
}

void Metrics::count_rate_limit(bool allowed) {
  const std::string_view result = allowed ? "allowed" : "rejected";
  families_->rate_limits.count({result});
}

void Metrics::admission_permit_taken() {
  families_->admission_inflight.count({});
}

void Metrics::admission_permit_returned() {
  families_->admission_inflight.count({}, -1);
}

void Metrics::admission_wait_began() {
  families_->admission_queue.count({});
}

void Metrics::admission_wait_ended() {
  families_->admission_queue.count({}, -1);
}

void Metrics::count_admission_rejected(std::string_view reason) {
  families_->admission_rejections.count({reason});
}

void Metrics::count_router_request(const RouterLabels& labels) {
  const std::string_view streaming = labels.streaming ? "true" : "false";
  families_->router_requests.count({labels.backend, labels.model, labels.endpoint, streaming});
}

void Metrics::observe_router_duration(const RouterLabels& labels, Elapsed elapsed) {
  families_->router_durations.observe({labels.backend, labels.model, labels.endpoint},
                                      elapsed.count());
}

void Metrics::observe_ttft(const RouterLabels& labels, Elapsed elapsed) {
  families_->ttft.observe({labels.backend, labels.model, labels.endpoint}, elapsed.count());
}

void Metrics::count_router_error(const RouterLabels& labels, std::string_view error_type) {
  families_->router_errors.count({labels.backend, labels.model, labels.endpoint, error_type});
}

void Metrics::count_upstream_response(int status, std::string_view error_code) {
  const Decimal code(status);
  families_->upstream_responses.count({code.view(), error_code});
}

void Metrics::count_body_path(std::string_view path, std::string_view reason) {
  families_->body_paths.count({path, reason});
}

void Metrics::add_released_bytes(std::uint64_t bytes) {
  if (bytes > 0) families_->released_bytes.count({}, static_cast<double>(bytes));
}

void Metrics::count_send_retry() {
  families_->send_retries.count({});
}

void Metrics::count_worker_selection(std::string_view type, std::string_view model,
                                     std::string_view policy) {
  families_->selections.count({type, model, policy});
}

void Metrics::count_worker_error(std::string_view type, std::string_view error_type) {
  families_->worker_errors.count({type, error_type});
}

void Metrics::count_health_check(std::string_view type, bool success) {
  families_->health_checks.count({type, success ? "success" : "failure"});
}

void Metrics::count_retry(std::string_view type, std::string_view endpoint) {
  families_->retries.count({type, endpoint});
}

void Metrics::count_retries_exhausted(std::string_view type, std::string_view endpoint) {
  families_->retries_exhausted.count({type, endpoint});
}

void Metrics::observe_retry_backoff(std::uint32_t attempt, Elapsed backoff) {
  const Decimal number(attempt);
  families_->backoffs.observe({number.view()}, backoff.count());
}

void Metrics::set_worker_pool_size(std::string_view type, std::string_view model,
                                   std::uint64_t workers) {
  families_->pool_sizes.at({type, model}).Set(static_cast<double>(workers));
}

void Metrics::observe_pd_ttft(std::string_view model, std::string_view runtime, Elapsed elapsed) {
  families_->pd_ttft.observe({model, runtime}, elapsed.count());
}

void Metrics::observe_pd_prefill(std::string_view model, std::string_view runtime,
                                 Elapsed elapsed) {
  families_->pd_prefills.observe({model, runtime}, elapsed.count());
}

void Metrics::count_kv_transfer(std::string_view mode) {
  families_->kv_transfers.count({mode});
}

void Metrics::count_kv_transfer_failure() {
  families_->kv_failures.count({});
}

void Metrics::set_workers_overloaded(std::string_view model, std::uint64_t workers) {
  families_->overloaded.at({model}).Set(static_cast<double>(workers));
}

void Metrics::count_overload_shed(std::string_view stage) {
  families_->overload_sheds.count({stage});
}

void Metrics::count_spans_exported(std::uint64_t spans) {
  families_->spans_exported.count({}, static_cast<double>(spans));
}

void Metrics::count_spans_dropped(std::string_view reason, std::uint64_t spans) {
  families_->spans_dropped.count({reason}, static_cast<double>(spans));
}

DiscoveryMetrics& Metrics::discovery() noexcept {
  return families_->discovery;
}

std::unique_ptr<WorkerSeries> Metrics::open_worker_series(std::string_view url) {
  return std::make_unique<WorkerSeries>(families_->workers, url);
}

void Metrics::show_branch(std::string_view policy, std::string_view branch, std::uint64_t total) {
  if (total == 0) return;
  auto& families = *families_;
  auto& family = policy == "cache_aware"   ? families.cache_aware_branches
                 : policy == "prefix_hash" ? families.prefix_hash_branches
                 : policy == "manual"      ? families.manual_branches
                                           : families.consistent_hashing_branches;
  raise_to(family.at({branch}), static_cast<double>(total));
}

void Metrics::show_key_source(std::string_view source, std::uint64_t total) {
  if (total == 0) return;
  raise_to(families_->key_sources.at({source}), static_cast<double>(total));
}

void Metrics::show_match_ratios(std::span<const std::uint64_t> counts, double sum) {
  if (std::all_of(counts.begin(), counts.end(), [](auto count) { return count == 0; })) return;
  std::vector<double> totals(counts.begin(), counts.end());
  totals.resize(kTenths.size() + 1);
  raise_to(families_->match_ratios.at({}), totals, sum);
}

void Metrics::show_fleet(const std::vector<FleetReading>& readings) {
  families_->fleet.show(readings);
}

void Metrics::show_inflight_ages(std::span<const std::uint64_t> counts) {
  std::uint32_t from = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const bool is_last = i >= std::size(kInflightAgeBounds);
    const std::uint32_t upto = is_last ? 0 : kInflightAgeBounds[i];
    const Decimal above(from);
    const Decimal below(upto);
    families_->inflight_ages.at({above.view(), is_last ? "+Inf" : below.view()})
        .Set(static_cast<double>(counts[i]));
    from = upto;
  }
}

void Metrics::observe_loop_delay(unsigned thread, Elapsed delay) {
  const Decimal number(thread);
  families_->loop_delays.observe({number.view()}, delay.count());
}

void Metrics::show_process() const {
  const ProcessReadings readings = read_process();
  families_->resident.at({}).Set(readings.resident_bytes);
  families_->resident_too.at({}).Set(readings.resident_bytes);
  raise_to(families_->cpu.at({}), readings.cpu_seconds);
  families_->descriptors.at({}).Set(readings.open_descriptors);
  families_->most_descriptors.at({}).Set(readings.most_descriptors);
  families_->threads.at({}).Set(readings.threads);
  families_->started.at({}).Set(readings.started);
}

std::vector<MetricFacts> Metrics::metrics() const {
  return families_->registry->metrics();
}

std::string Metrics::exposition() const {
  return prometheus::TextSerializer().Serialize(families_->registry->Collect());
}

}  // namespace smg::observability
