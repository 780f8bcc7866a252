#include "micro/allocations.hpp"
#include "micro/heads.hpp"
#include <smg/http/h1_parser.hpp>

namespace smg::bench {
namespace {

/// As a connection takes one off its input: found, copied, parsed.
void parse_request_head(benchmark::State& state, const std::string& wire) {
  http::RequestHead head;
  const CountAllocations count(state);
  for (auto _ : state) {
    head.text.assign(wire, 0, http::find_head_end(wire, 0));
    auto parsed = http::parse_request_head(head);
    benchmark::DoNotOptimize(parsed);
  }
  report_bytes(state, wire.size());
}
BENCHMARK_CAPTURE(parse_request_head, 3_fields, kSmallRequest);
BENCHMARK_CAPTURE(parse_request_head, 60_fields, large_request());

void parse_response_head(benchmark::State& state) {
  http::ResponseHead head;
  const CountAllocations count(state);
  for (auto _ : state) {
    head.text.assign(kResponse, 0, http::find_head_end(kResponse, 0));
    auto parsed = http::parse_response_head(head, false);
    benchmark::DoNotOptimize(parsed);
  }
  report_bytes(state, kResponse.size());
}
BENCHMARK(parse_response_head);

}  // namespace
}  // namespace smg::bench
