#pragma once

#include <cstdint>

#include <benchmark/benchmark.h>

namespace smg::bench {

/// Calls of operator new on this thread so far. What asks malloc itself, as BodyBuffer does, is not
/// among them.
[[nodiscard]] std::uint64_t allocations() noexcept;

/// Reports the calls from here to the end of its life as `allocs/op`.
class CountAllocations {
 public:
  explicit CountAllocations(benchmark::State& state) : state_(state) {}
  ~CountAllocations() {
    const auto calls = static_cast<double>(allocations() - before_);
    state_.counters["allocs/op"] = {calls, benchmark::Counter::kAvgIterations};
  }
  CountAllocations(const CountAllocations&) = delete;
  CountAllocations& operator=(const CountAllocations&) = delete;

 private:
  benchmark::State& state_;
  const std::uint64_t before_ = allocations();
};

/// Reports bytes per second, of `bytes` in each operation.
inline void report_bytes(benchmark::State& state, std::size_t bytes) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
}

}  // namespace smg::bench
