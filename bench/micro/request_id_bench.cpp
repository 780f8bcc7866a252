#include "micro/allocations.hpp"
#include <smg/base/random_bits.hpp>
#include <smg/observability/request_id.hpp>
#include <smg/observability/request_trace.hpp>

namespace smg::bench {
namespace {

void draw_random_bits(benchmark::State& state) {
  for (auto _ : state) {
    auto bits = random_bits();
    benchmark::DoNotOptimize(bits);
  }
}
BENCHMARK(draw_random_bits);

void make_request_id(benchmark::State& state) {
  const CountAllocations count(state);
  for (auto _ : state) {
    auto id = observability::make_request_id("chatcmpl-");
    benchmark::DoNotOptimize(id);
  }
}
BENCHMARK(make_request_id);

/// With --enable-trace: the spans of a request and of its one attempt.
void trace_request(benchmark::State& state) {
  const CountAllocations count(state);
  for (auto _ : state) {
    const auto now = std::chrono::steady_clock::now();
    observability::RequestTrace trace("", "", now);
    observability::AttemptTrace attempt(&trace, "http://10.0.0.1:8000", "10.0.0.1", 8000);
    auto traceparent = attempt.next_send();
    benchmark::DoNotOptimize(traceparent);
  }
}
BENCHMARK(trace_request);

}  // namespace
}  // namespace smg::bench
