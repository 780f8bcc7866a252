#include "micro/allocations.hpp"
#include "micro/chat_stream.hpp"
#include "relay/minimax_framer.hpp"

namespace smg::bench {
namespace {

using relay::minimax::SseFramer;

constexpr int kEvents = 100;

/// A read of 100 events, taken apart.
void frame_events(benchmark::State& state) {
  const std::string wire = chat_stream(kEvents);
  SseFramer framer(1024 * 1024);
  const CountAllocations count(state);
  for (auto _ : state) {
    framer.append(wire);
    while (framer.find() == SseFramer::Found::Frame) framer.take(framer.frame().size);
  }
  report_bytes(state, wire.size());
}
BENCHMARK(frame_events);

}  // namespace
}  // namespace smg::bench
