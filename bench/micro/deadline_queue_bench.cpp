#include <memory>
#include <vector>

#include "micro/allocations.hpp"
#include <smg/net/deadline_queue.hpp>

namespace smg::bench {
namespace {

using namespace std::chrono_literals;

/// A request's timeout, armed and disarmed among those of so many other connections.
void arm_and_disarm(benchmark::State& state) {
  net::DeadlineQueue queue;
  std::vector<std::unique_ptr<net::Deadline>> others;
  for (std::int64_t i = 0; i < state.range(); ++i) {
    others.push_back(std::make_unique<net::Deadline>(queue, [] {}));
    others.back()->arm(60s + i * 1ms);
  }
  net::Deadline deadline(queue, [] {});
  deadline.arm(30s);
  const CountAllocations count(state);
  for (auto _ : state) {
    deadline.arm(30s);
    deadline.disarm();
  }
}
BENCHMARK(arm_and_disarm)->ArgName("others")->Arg(0)->Arg(2000)->Arg(100000);

/// The oldest of so many idle connections is used again: its timeout goes to the end.
void move_to_end(benchmark::State& state) {
  net::DeadlineQueue queue;
  std::vector<std::unique_ptr<net::Deadline>> all;
  for (std::int64_t i = 0; i < state.range(); ++i) {
    all.push_back(std::make_unique<net::Deadline>(queue, [] {}));
    all.back()->arm(60s);
  }
  std::size_t oldest = 0;
  const CountAllocations count(state);
  for (auto _ : state) {
    all[oldest]->arm(60s);
    oldest = oldest + 1 == all.size() ? 0 : oldest + 1;
  }
}
BENCHMARK(move_to_end)->ArgName("deadlines")->Arg(2000)->Arg(100000);

}  // namespace
}  // namespace smg::bench
