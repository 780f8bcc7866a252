#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "unit/routing/simulated_fleet.hpp"
#include <smg/routing/load_report.hpp>

namespace smg::routing {
namespace {

TEST(LoadBoard, HasNoReportBeforeTheFirst) {
  const LoadBoard board;
  EXPECT_FALSE(board.report(at_second(0)));
}

TEST(LoadBoard, KeepsAReportUntilItIsTooOld) {
  LoadBoard board;
  board.publish({0.25, 3, 400, 50.5, at_second(30)});
  const auto report = board.report(at_second(29));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->token_usage, 0.25);
  EXPECT_EQ(report->waiting_requests, 3U);
  EXPECT_EQ(report->waiting_uncached_tokens, 400U);
  EXPECT_EQ(report->throughput, 50.5);
  EXPECT_FALSE(board.report(at_second(30)));
}

TEST(LoadBoard, CountsWhatWasSentSinceTheReport) {
  LoadBoard board;
  board.count_dispatch(10);
  board.count_dispatch(0);
  board.count_dispatch(5);
  EXPECT_EQ(board.dispatched().requests, 3U);
  EXPECT_EQ(board.dispatched().tokens, 15U);
  EXPECT_EQ(board.dispatched().unsized, 1U);
  board.publish({});
  EXPECT_EQ(board.dispatched().requests, 0U);
  EXPECT_EQ(board.dispatched().tokens, 0U);
}

TEST(LoadBoard, ReadersNeverSeeHalfAReport) {
  LoadBoard board;
  board.publish({0, 0, 0, 0});
  std::atomic<bool> done{false};
  std::thread writer([&] {
    for (std::uint64_t i = 0; i < 20000; ++i) {
      board.publish({static_cast<double>(i), i, i, static_cast<double>(i)});
    }
    done = true;
  });
  while (!done) {
    const auto report = board.report(at_second(0));
    ASSERT_TRUE(report);
    ASSERT_EQ(report->waiting_requests, report->waiting_uncached_tokens);
    ASSERT_EQ(report->token_usage, report->throughput);
  }
  writer.join();
}

}  // namespace
}  // namespace smg::routing
