#include "micro/allocations.hpp"
#include "micro/heads.hpp"
#include <smg/http/h1_parser.hpp>
#include <smg/relay/header_rules.hpp>

namespace smg::bench {
namespace {

const relay::RequestId kId{"chatcmpl-0123456789abcdefghijklmn", false};

/// What of a client's fields goes to a worker.
void upstream_fields(benchmark::State& state, const std::string& wire) {
  http::RequestHead head;
  head.text = wire;
  http::parse_request_head(head).value();
  const CountAllocations count(state);
  for (auto _ : state) {
    auto fields = relay::upstream_fields(head, kId, {}, {}, false);
    benchmark::DoNotOptimize(fields);
  }
}
BENCHMARK_CAPTURE(upstream_fields, of_3, kSmallRequest);
BENCHMARK_CAPTURE(upstream_fields, of_60, large_request());

/// What of a worker's fields goes to a client.
void client_fields(benchmark::State& state) {
  http::ResponseHead head;
  head.text = kResponse;
  http::parse_response_head(head, false).value();
  const CountAllocations count(state);
  for (auto _ : state) {
    auto fields = relay::client_fields(head, {"http://10.0.0.1:8000", kId.text});
    benchmark::DoNotOptimize(fields);
  }
}
BENCHMARK(client_fields);

}  // namespace
}  // namespace smg::bench
