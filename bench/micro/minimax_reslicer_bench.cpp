#include "micro/allocations.hpp"
#include "micro/chat_stream.hpp"
#include <smg/relay/minimax_reslicer.hpp>

namespace smg::bench {
namespace {

/// A read of so many events, re-sliced: one event is a stream that trickles, 100 one that is
/// behind.
void reslice_events(benchmark::State& state) {
  const std::string wire = chat_stream(static_cast<int>(state.range()));
  relay::MinimaxReslicer reslicer;
  std::string out;
  const CountAllocations count(state);
  for (auto _ : state) {
    reslicer.feed(wire);
    for (bool more = true; more;) {
      more = reslicer.produce(out);
      out.clear();
    }
  }
  report_bytes(state, wire.size());
}
BENCHMARK(reslice_events)->ArgName("events")->Arg(1)->Arg(100);

}  // namespace
}  // namespace smg::bench
