#include "observability/row_tally.hpp"

#include <barrier>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace smg::observability {
namespace {

using Totals = RowTally<2>::Totals;

TEST(RowTally, CountsKindsOfManyRowsApart) {
  constexpr std::int64_t kRows = 200;  // more than are made at once
  RowTally<2> tally;
  std::vector<std::size_t> rows;
  for (std::int64_t i = 0; i < kRows; ++i) {
    rows.push_back(tally.open());
    tally.count(rows.back(), 0, i);
    tally.count(rows.back(), 1, -i);
    tally.count(rows.back(), 1);
  }
  for (std::int64_t i = 0; i < kRows; ++i) {
    EXPECT_EQ(tally.totals(rows[static_cast<std::size_t>(i)]), (Totals{i, 1 - i})) << i;
  }
}

TEST(RowTally, ReopenedRowStartsAnew) {
  RowTally<2> tally;
  const std::size_t kept = tally.open();
  const std::size_t row = tally.open();
  EXPECT_NE(kept, row);
  tally.count(kept, 0);
  tally.count(row, 0, 5);
  tally.close(row);
  ASSERT_EQ(tally.open(), row) << "else it is not the same memory";
  EXPECT_EQ(tally.totals(row), (Totals{0, 0}));
  tally.count(row, 1, 2);
  EXPECT_EQ(tally.totals(row), (Totals{0, 2}));
  EXPECT_EQ(tally.totals(kept), (Totals{1, 0}));
}

TEST(RowTally, AddsUpWhatManyThreadsCount) {
  constexpr int kThreads = 300;  // more than have memory of their own
  constexpr int kEvents = 1000;
  RowTally<2> tally;
  const std::size_t row = tally.open();
  std::barrier all_counted(kThreads);
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int event = 0; event < kEvents; ++event) tally.count(row, 1);
      all_counted.arrive_and_wait();
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(tally.totals(row), (Totals{0, kThreads * kEvents}));
}

}  // namespace
}  // namespace smg::observability
