#include <set>

#include <gtest/gtest.h>

#include "routing/policies.hpp"
#include "unit/routing/simulated_fleet.hpp"

namespace smg::routing {
namespace {

std::unique_ptr<Policy> least_load(config::LeastLoad tuning = {}) {
  return make_least_load_policy(tuning);
}

/// All workers that `tries` picks return.
std::set<int> picks(SimulatedFleet& fleet, Policy& policy, int tries = 40, TimePoint now = {}) {
  std::set<int> seen;
  RoutingRequest request;
  request.now = now;
  for (int i = 0; i < tries; ++i) seen.insert(fleet.number_of(policy.pick(fleet.all(), request)));
  return seen;
}

TEST(LeastLoad, JoinsTheShortestQueueWithoutReports) {
  SimulatedFleet fleet(3);
  const auto policy = least_load();
  EXPECT_EQ(picks(fleet, *policy, 200), (std::set{0, 1, 2}));
  fleet.add_load(0, 2);
  fleet.add_load(1, 1);
  EXPECT_EQ(picks(fleet, *policy), (std::set{2}));
  fleet.add_load(2, 1);
  EXPECT_EQ(picks(fleet, *policy, 200), (std::set{1, 2}));
}

// Defaults: 2000 tokens per second, 1024 tokens per request, weight 0.15 s.
TEST(LeastLoad, ComparesExpectedWaits) {
  struct {
    std::string_view what;
    LoadReport first;
    LoadReport second;
    int winner;
  } const cases[] = {
      {"tokens queued", {0, 0, 1000, 0}, {0, 0, 999, 0}, 1},
      {"tokens beat requests", {0, 100, 1000, 0}, {0, 1, 0, 0}, 0},
      {"requests queued", {0, 2, 0, 0}, {0, 3, 0, 0}, 0},
      {"throughput", {0, 0, 1000, 100}, {0, 0, 1900, 200}, 1},
      {"the default throughput", {0, 0, 1000, 0}, {0, 0, 1000, 1999}, 0},
      {"a full cache", {0.95, 0, 0, 0}, {0.94, 0, 0, 0}, 1},
      // 0.15 * 9 = 1.35 s against 2699 / 2000 = 1.3495 s
      {"cache against queue, just below", {0.9, 0, 0, 0}, {0, 0, 2699, 0}, 1},
      {"cache against queue, just above", {0.9, 0, 0, 0}, {0, 0, 2701, 0}, 0},
      {"usage beyond 1 counts as 0.999", {7, 0, 0, 0}, {0, 0, 299800, 0}, 0},
  };
  for (const auto& [what, first, second, winner] : cases) {
    SimulatedFleet fleet(2);
    fleet[0].board().publish(first);
    fleet[1].board().publish(second);
    EXPECT_EQ(picks(fleet, *least_load()), (std::set{winner})) << what;
  }
}

TEST(LeastLoad, CreditsWhatWasSentSinceTheReport) {
  struct {
    std::string_view what;
    int unsized;
    std::uint64_t tokens;
    std::uint64_t queued_elsewhere;
    int winner;
  } const cases[] = {
      {"a request of unknown size is 1024 tokens", 1, 0, 1025, 0},
      {"and no less", 1, 0, 1023, 1},
      {"tokens count as they are", 0, 10000, 10001, 0},
      {"and no less", 0, 10000, 9999, 1},
      {"both add up", 2, 100, 2149, 0},
      {"and no less", 2, 100, 2147, 1},
  };
  for (const auto& [what, unsized, tokens, queued_elsewhere, winner] : cases) {
    SimulatedFleet fleet(2);
    fleet[0].board().publish({});
    fleet[1].board().publish({0, 0, queued_elsewhere, 0});
    for (int i = 0; i < unsized; ++i) fleet[0].board().count_dispatch(0);
    if (tokens > 0) fleet[0].board().count_dispatch(tokens);
    EXPECT_EQ(picks(fleet, *least_load()), (std::set{winner})) << what;
    fleet[0].board().publish({});
    EXPECT_EQ(picks(fleet, *least_load()), (std::set{0})) << what << ", after the next report";
  }
}

TEST(LeastLoad, SelectionGivesTheCredit) {
  SimulatedFleet fleet(2, least_load());
  for (const int i : {0, 1}) fleet[static_cast<std::size_t>(i)].board().publish({});
  const std::vector<std::uint32_t> tokens(3000, 1);
  RoutingRequest sized;
  sized.tokens = tokens;
  const auto first = fleet.select(sized);
  ASSERT_TRUE(first);
  // 3000 tokens there are more than two requests of 1024 here.
  for (int i = 0; i < 3; ++i) {
    const auto next = fleet.select({});
    ASSERT_TRUE(next);
    EXPECT_NE(&(*next)->worker(), &(*first)->worker()) << i;
  }
  const auto fifth = fleet.select({});
  ASSERT_TRUE(fifth);
  EXPECT_EQ(&(*fifth)->worker(), &(*first)->worker());
}

TEST(LeastLoad, ASilentWorkerIsJudgedByItsPeersPace) {
  SimulatedFleet fleet(3);
  fleet[0].board().publish({0, 0, 1000, 100});
  fleet[1].board().publish({0, 0, 4000, 300});
  // Peers do 200 tokens a second, so one request of 1024 tokens takes 5.12 s.
  fleet.add_load(2, 1);
  EXPECT_EQ(picks(fleet, *least_load()), (std::set{2}));
  fleet.add_load(2, 1);
  EXPECT_EQ(picks(fleet, *least_load()), (std::set{0}));
}

TEST(LeastLoad, AnOldReportIsNone) {
  SimulatedFleet fleet(2);
  fleet[0].board().publish({0, 0, 100000, 0, at_second(30)});
  fleet.add_load(1, 1);
  EXPECT_EQ(picks(fleet, *least_load(), 40, at_second(29)), (std::set{1}));
  EXPECT_EQ(picks(fleet, *least_load(), 40, at_second(30)), (std::set{0}));
}

TEST(LeastLoad, TheCapLeavesFullQueuesOut) {
  config::LeastLoad tuning;
  tuning.max_waiting_requests = 3;
  SimulatedFleet fleet(2);
  const auto policy = least_load(tuning);
  fleet[0].board().publish({0, 3, 0, 0});
  fleet[1].board().publish({0.99, 1, 0, 0});
  EXPECT_EQ(picks(fleet, *policy), (std::set{1}));
  fleet[1].board().count_dispatch(0);
  EXPECT_EQ(picks(fleet, *policy), (std::set{1}));
  fleet[1].board().count_dispatch(50);
  EXPECT_EQ(picks(fleet, *policy), (std::set{-1}));
  fleet[0].board().publish({0, 2, 0, 0});
  EXPECT_EQ(picks(fleet, *policy), (std::set{0}));
}

TEST(LeastLoad, TheCapHoldsForASingleWorker) {
  config::LeastLoad tuning;
  tuning.max_waiting_requests = 1;
  SimulatedFleet fleet(1);
  fleet[0].board().publish({0, 1, 0, 0});
  EXPECT_EQ(picks(fleet, *least_load(tuning), 1), (std::set{-1}));
  EXPECT_EQ(picks(fleet, *least_load(), 1), (std::set{0}));
}

TEST(LeastLoad, TheWeightIsTunable) {
  SimulatedFleet fleet(2);
  fleet[0].board().publish({0.9, 0, 0, 0});
  fleet[1].board().publish({0, 0, 20000, 0});
  config::LeastLoad heavy;
  heavy.kv_pressure_weight = 100;
  EXPECT_EQ(picks(fleet, *least_load()), (std::set{0}));
  EXPECT_EQ(picks(fleet, *least_load(heavy)), (std::set{1}));
}

TEST(PowerOfTwo, TakesTheLighterOfTheTwo) {
  SimulatedFleet fleet(2);
  const auto policy = make_power_of_two_policy();
  fleet[0].board().publish({0.9, 0, 0, 0});
  fleet[1].board().publish({0.1, 0, 0, 0});
  EXPECT_EQ(picks(fleet, *policy), (std::set{1}));
}

TEST(PowerOfTwo, NeverTakesTheHeaviestButReachesAllOthers) {
  SimulatedFleet fleet(4);
  const auto policy = make_power_of_two_policy();
  fleet.add_load(3, 1);
  EXPECT_EQ(picks(fleet, *policy, 400), (std::set{0, 1, 2}));
}

}  // namespace
}  // namespace smg::routing
