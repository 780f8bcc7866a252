#include "control/trace_queue.hpp"

#include <gtest/gtest.h>

namespace smg::control {
namespace {

using observability::RequestTrace;
using observability::RequestTracePtr;
using Put = TraceQueue::Put;

RequestTracePtr trace_of(std::size_t spans) {
  auto trace = std::make_unique<RequestTrace>("", "", std::chrono::steady_clock::time_point{});
  trace->attempts.resize(spans - 1);
  return trace;
}

std::vector<std::size_t> sizes(const std::vector<RequestTracePtr>& traces) {
  std::vector<std::size_t> found;
  for (const auto& trace : traces) found.push_back(trace->span_count());
  return found;
}

TEST(TraceQueue, SaysOnceThatABatchIsReady) {
  TraceQueue queue(100, 4);
  EXPECT_EQ(queue.put(trace_of(1)), Put::Queued);
  EXPECT_EQ(queue.put(trace_of(2)), Put::Queued);
  EXPECT_EQ(queue.put(trace_of(2)), Put::BatchReady);
  EXPECT_EQ(queue.put(trace_of(9)), Put::Queued);
  while (!queue.take().empty()) {
  }
  EXPECT_EQ(queue.put(trace_of(4)), Put::BatchReady);
}

TEST(TraceQueue, GivesTheOldestInBatches) {
  TraceQueue queue(100, 4);
  for (const std::size_t spans : {2U, 1U, 3U, 7U, 1U}) {
    EXPECT_NE(queue.put(trace_of(spans)), Put::Full);
  }
  EXPECT_EQ(sizes(queue.take()), (std::vector<std::size_t>{2, 1, 3}));
  EXPECT_EQ(sizes(queue.take()), (std::vector<std::size_t>{7}));
  EXPECT_EQ(sizes(queue.take()), (std::vector<std::size_t>{1}));
  EXPECT_TRUE(queue.take().empty());
}

TEST(TraceQueue, TakesNoMoreThanItsCapacity) {
  TraceQueue queue(5, 4);
  EXPECT_EQ(queue.put(trace_of(6)), Put::Full);
  EXPECT_EQ(queue.put(trace_of(3)), Put::Queued);
  EXPECT_EQ(queue.put(trace_of(3)), Put::Full);
  EXPECT_EQ(queue.put(trace_of(2)), Put::BatchReady);
  EXPECT_EQ(queue.put(trace_of(1)), Put::Full);
  EXPECT_EQ(sizes(queue.take()), (std::vector<std::size_t>{3, 2}));
  EXPECT_EQ(queue.put(trace_of(5)), Put::BatchReady);
}

}  // namespace
}  // namespace smg::control
