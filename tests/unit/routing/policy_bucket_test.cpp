#include <gtest/gtest.h>

#include "routing/policies.hpp"
#include "unit/routing/simulated_fleet.hpp"

namespace smg::routing {
namespace {

/// Balancing off, unless a test is about it.
config::CacheAware no_balancing() {
  config::CacheAware balance;
  balance.balance_abs_threshold = 1U << 30U;
  return balance;
}

class BucketTest : public testing::Test {
 protected:
  int ask(SimulatedFleet& fleet, std::size_t size, int second = 0) {
    const std::vector<std::uint32_t> tokens(size, 1);
    const RoutingRequest request{.tokens = tokens};
    return fleet.number_of(&(*fleet.select(request, at_second(second)))->worker());
  }
};

TEST_F(BucketTest, StartsWithEvenRanges) {
  struct {
    std::size_t size;
    int worker;
  } const cases[] = {{0, 0},    {1, 0},    {1024, 0}, {1025, 1}, {2048, 1},
                     {2049, 2}, {3073, 3}, {4096, 3}, {9999, 3}};
  SimulatedFleet fleet(4, make_bucket_policy({}, no_balancing()));
  for (const auto& [size, worker] : cases) EXPECT_EQ(ask(fleet, size), worker) << size;
}

TEST_F(BucketTest, TextsCountByTheirCharacters) {
  SimulatedFleet fleet(4, make_bucket_policy({}, no_balancing()));
  std::string text;
  for (int i = 0; i < 1000; ++i) text += "ü";
  EXPECT_EQ(fleet.number_of(&(*fleet.select({.text = text}))->worker()), 0);
}

TEST_F(BucketTest, AnUnbalancedFleetFillsUpTheLightest) {
  config::CacheAware balance;
  balance.balance_abs_threshold = 1000;
  balance.balance_rel_threshold = 1.5;
  SimulatedFleet fleet(3, make_bucket_policy({}, balance));
  EXPECT_EQ(ask(fleet, 900), 0);
  EXPECT_EQ(ask(fleet, 900), 0);
  // 1800 against 0: to the first of the lightest, whatever the size.
  EXPECT_EQ(ask(fleet, 10), 1);
  EXPECT_EQ(ask(fleet, 2000), 2);
  // 1800, 10, 2000
  EXPECT_EQ(ask(fleet, 10), 1);
  // The window has passed.
  EXPECT_EQ(ask(fleet, 10, 30), 0);
}

TEST_F(BucketTest, MovesTheBoundsToWhereTheWorkIs) {
  SimulatedFleet fleet(2, make_bucket_policy({}, no_balancing()));
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ask(fleet, static_cast<std::size_t>(i) + 1, 10), 0);
  // Half of the work of 1..100 is in sizes up to 71.
  EXPECT_EQ(ask(fleet, 60, 15), 0);
  EXPECT_EQ(ask(fleet, 80, 15), 1);
  EXPECT_EQ(ask(fleet, 5000, 15), 1);
}

TEST_F(BucketTest, KeepsBoundsThatAreStillRight) {
  SimulatedFleet fleet(2, make_bucket_policy({}, no_balancing()));
  for (int i = 0; i < 100; ++i) static_cast<void>(ask(fleet, 100, 10));
  for (int i = 0; i < 60; ++i) static_cast<void>(ask(fleet, 150, 15));
  // By the window alone, 120 would now be in the first range.
  static_cast<void>(ask(fleet, 1, 20));
  EXPECT_EQ(ask(fleet, 120, 20), 1);
}

TEST_F(BucketTest, ARangeWhoseWorkerIsOutGoesToTheNearest) {
  SimulatedFleet fleet(4, make_bucket_policy({}, no_balancing()));
  EXPECT_EQ(ask(fleet, 1500), 1);
  fleet[1].set_status(WorkerStatus::NotReady);
  EXPECT_EQ(ask(fleet, 1500), 2);
  fleet[2].set_status(WorkerStatus::NotReady);
  EXPECT_EQ(ask(fleet, 1500), 0);
}

}  // namespace
}  // namespace smg::routing
