#include "micro/allocations.hpp"
#include <smg/config/gateway_config.hpp>
#include <smg/observability/metrics.hpp>

namespace smg::bench {
namespace {

using namespace std::chrono_literals;

observability::Metrics& shared_metrics() {
  static observability::Metrics metrics(config::Observability{}.duration_buckets, "bench");
  return metrics;
}

/// All that one chat request counts, from its head to its last byte, but of its worker.
void count_chat(observability::Metrics& metrics, std::string_view model) {
  constexpr std::string_view kPath = "/v1/chat/completions";
  const observability::RouterLabels labels{.model = model, .endpoint = "chat"};
  metrics.http_request_began();
  metrics.count_http_request("POST", kPath);
  metrics.count_body_path("buffered", "retryable");
  metrics.count_router_request(labels);
  metrics.count_worker_selection("regular", model, "round_robin");
  metrics.count_upstream_response(200, "");
  metrics.count_http_response(kPath, 200, "");
  metrics.observe_http_duration("POST", kPath, 1ms);
  metrics.http_request_ended();
  metrics.observe_router_duration(labels, 1ms);
}

void record_request(benchmark::State& state) {
  auto& metrics = shared_metrics();
  const CountAllocations count(state);
  for (auto _ : state) count_chat(metrics, "m");
}
// With two threads, both write the same series.
BENCHMARK(record_request)->Threads(1)->Threads(2)->UseRealTime();

/// Requests for four models in turn.
void record_requests_of_models(benchmark::State& state) {
  constexpr std::string_view kModels[] = {"llama-3.1-8b-instruct", "llama-3.1-70b-instruct",
                                          "qwen2.5-72b", "deepseek-v3"};
  auto& metrics = shared_metrics();
  const CountAllocations count(state);
  std::size_t request = 0;
  for (auto _ : state) count_chat(metrics, kModels[request++ % std::size(kModels)]);
}
BENCHMARK(record_requests_of_models);

/// What a request counts of its worker.
void record_worker_request(benchmark::State& state) {
  static const auto series = shared_metrics().open_worker_series("http://10.0.0.1:8000");
  const CountAllocations count(state);
  for (auto _ : state) {
    series->request_began();
    series->count_circuit_outcome(true);
    series->set_consecutive_successes(1);
    series->request_ended();
  }
}
BENCHMARK(record_worker_request)->Threads(1)->Threads(2)->UseRealTime();

/// One value for a histogram with the default buckets.
void observe_latency(benchmark::State& state) {
  auto& metrics = shared_metrics();
  const CountAllocations count(state);
  for (auto _ : state) metrics.observe_http_duration("POST", "/v1/chat/completions", 40ms);
}
BENCHMARK(observe_latency);

}  // namespace
}  // namespace smg::bench
