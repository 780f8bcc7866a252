#include <benchmark/benchmark.h>

#include <smg/relay/body_path.hpp>

namespace smg::bench {
namespace {

void decide_body_path(benchmark::State& state) {
  relay::RouterState router{.max_buffered_bytes = 1024 * 1024};
  relay::BodyFacts request{.content_length = 1024};
  for (auto _ : state) {
    benchmark::DoNotOptimize(router);
    benchmark::DoNotOptimize(request);
    auto decision = relay::decide_body_path(router, request);
    benchmark::DoNotOptimize(decision);
  }
}
BENCHMARK(decide_body_path);

}  // namespace
}  // namespace smg::bench
