#include <set>

#include <gtest/gtest.h>

#include "routing/policies.hpp"
#include "unit/routing/simulated_fleet.hpp"
#include <smg/routing/hints.hpp>

namespace smg::routing {
namespace {

using config::AssignmentMode;
using Held = std::vector<std::unique_ptr<Selection>>;

/// Sends a request and leaves it in flight.
int open(SimulatedFleet& fleet, Held& held, const RoutingRequest& request) {
  auto selected = fleet.select(request);
  if (!selected) return -1;
  held.push_back(std::move(*selected));
  return fleet.number_of(&held.back()->worker());
}

/// Sends a request that ends at once.
int ask(SimulatedFleet& fleet, const RoutingRequest& request) {
  Held held;
  return open(fleet, held, request);
}

std::unique_ptr<Policy> manual(AssignmentMode mode = AssignmentMode::Default) {
  config::StickySessions tuning;
  tuning.assignment = mode;
  return make_manual_policy(tuning);
}

std::unique_ptr<Policy> sticky(config::StickySessions tuning = {}) {
  return make_sticky_policy(make_round_robin_policy(), tuning);
}

TEST(SessionKey, IsTheValueWithoutTurnAndRetry) {
  const std::string longest(128, 'k');
  struct {
    std::string value;
    std::string key;
  } const cases[] = {
      {"talk", "talk"},
      {"talk_t1", "talk"},
      {"talk_t12_r3", "talk"},
      {"talk_r3", "talk"},
      {"talk_r3_t1", "talk_r3"},
      {"talk_t1_t2", "talk_t1"},
      {"talk_t", "talk_t"},
      {"talk_t1x", "talk_t1x"},
      {"talkt1", "talkt1"},
      {"_t1", "_t1"},
      {"_t1_r2", "_t1_r2"},
      {"12", "12"},
      {"", ""},
      {longest, longest},
      {longest + "k", ""},
      {"\xff", ""},
      {"\xc3\xa9_t1", "\xc3\xa9"},
      {"\xed\xa0\x80", ""},
  };
  for (const auto& [value, key] : cases) EXPECT_EQ(session_key(value), key) << value;
}

TEST(Manual, KeepsAKeyAtItsWorker) {
  for (const auto mode : {AssignmentMode::Default, AssignmentMode::Random, AssignmentMode::MinLoad,
                          AssignmentMode::MinGroup, AssignmentMode::Delegate}) {
    SimulatedFleet fleet(3, manual(mode));
    const std::string long_key(200, 'z');
    for (const auto key :
         {std::string_view("a"), std::string_view("b"), std::string_view(long_key)}) {
      const int home = ask(fleet, {.routing_key = key});
      for (int i = 0; i < 10; ++i) EXPECT_EQ(ask(fleet, {.routing_key = key}), home) << key;
    }
  }
}

TEST(Manual, WithoutAKeyNothingIsPinned) {
  SimulatedFleet fleet(2, manual());
  for (const std::string_view key : {"", "\xff", "ключ"}) {
    std::set<int> seen;
    for (int i = 0; i < 60; ++i) seen.insert(ask(fleet, {.routing_key = key}));
    EXPECT_EQ(seen.size(), 2U) << key;
  }
}

TEST(Manual, MinLoadCountsRequests) {
  SimulatedFleet fleet(2, manual(AssignmentMode::MinLoad));
  Held held;
  const int busy = open(fleet, held, {.routing_key = "busy_t1"});
  for (int i = 0; i < 8; ++i) {
    EXPECT_NE(ask(fleet, {.routing_key = "new-" + std::to_string(i)}), busy);
  }
  EXPECT_NE(ask(fleet, {.routing_key = "busy_t2"}), busy) << "keys are whole";
  EXPECT_EQ(ask(fleet, {.routing_key = "busy_t1"}), busy);
}

TEST(Manual, MinGroupCountsKeys) {
  SimulatedFleet fleet(2, manual(AssignmentMode::MinGroup));
  Held held;
  const int crowded = open(fleet, held, {.routing_key = "crowd"});
  for (int i = 0; i < 4; ++i) EXPECT_EQ(open(fleet, held, {.routing_key = "crowd"}), crowded);
  std::multiset<int> homes = {crowded};
  for (const auto key : {"b", "c", "d"}) homes.insert(open(fleet, held, {.routing_key = key}));
  EXPECT_EQ(homes, (std::multiset{0, 0, 1, 1}));
  held.clear();
  EXPECT_EQ(fleet[0].active_keys() + fleet[1].active_keys(), 0U);
}

TEST(Manual, ReturnsToTheFirstWorker) {
  SimulatedFleet fleet(3, manual());
  const RoutingRequest me{.routing_key = "me"};
  const auto home = static_cast<std::size_t>(ask(fleet, me));
  fleet[home].set_status(WorkerStatus::NotReady);
  const int refuge = ask(fleet, me);
  EXPECT_NE(refuge, static_cast<int>(home));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(ask(fleet, me), refuge);
  fleet[home].set_status(WorkerStatus::Ready);
  EXPECT_EQ(ask(fleet, me), static_cast<int>(home));
}

TEST(Manual, ForgetsIdleKeys) {
  config::StickySessions tuning;
  tuning.assignment = AssignmentMode::MinLoad;
  tuning.max_idle = std::chrono::seconds(10);
  SimulatedFleet fleet(2, make_manual_policy(tuning));
  Held held;
  const RoutingRequest me{.routing_key = "me"};
  auto first = fleet.select(me, at_second(0));
  ASSERT_TRUE(first);
  Worker* const home = &(*first)->worker();
  EXPECT_EQ(&(*fleet.select(me, at_second(9)))->worker(), home);
  EXPECT_NE(&(*fleet.select(me, at_second(19)))->worker(), home);
}

TEST(Override, PinsWhatThePolicyPlaced) {
  SimulatedFleet fleet(3, sticky());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ask(fleet, {.session_header = std::to_string(i)}), i);
  for (const int i : {2, 0, 1, 1, 0, 2}) {
    EXPECT_EQ(ask(fleet, {.session_header = std::to_string(i)}), i);
  }
}

TEST(Override, TheRidBeatsTheHeader) {
  SimulatedFleet fleet(3, sticky());
  EXPECT_EQ(ask(fleet, {.rid = "one"}), 0);
  EXPECT_EQ(ask(fleet, {.rid = "two"}), 1);
  EXPECT_EQ(ask(fleet, {.rid = "two_t4_r1", .session_header = "one"}), 1);
  EXPECT_EQ(ask(fleet, {.session_header = "one"}), 0);
  const std::string too_long(129, 'x');
  EXPECT_EQ(ask(fleet, {.rid = too_long, .session_header = "two"}), 1);
}

TEST(Override, WithoutAKeyThePolicyGoesOn) {
  SimulatedFleet fleet(2, sticky());
  const std::string too_long(129, 'k');
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(ask(fleet, {.routing_key = "not read", .session_header = too_long}), i % 2);
  }
}

TEST(Override, ASessionWithTwoInFlightMovesOn) {
  SimulatedFleet fleet(3, sticky());
  Held held;
  std::vector<int> homes;
  homes.reserve(6);
  for (int i = 0; i < 6; ++i) homes.push_back(open(fleet, held, {.rid = "k"}));
  EXPECT_EQ(homes[0], homes[1]);
  EXPECT_EQ(homes[2], homes[3]);
  EXPECT_EQ(homes[4], homes[5]);
  EXPECT_EQ(std::set<int>(homes.begin(), homes.end()).size(), 3U);
  // No room anywhere: by the policy, and the session stays where it is.
  EXPECT_NE(open(fleet, held, {.rid = "k"}), -1);
  held.clear();
  EXPECT_EQ(ask(fleet, {.rid = "k"}), homes[5]);
}

TEST(Override, StaysAtTheNewWorkerWhenTheOldOneReturns) {
  SimulatedFleet fleet(2, sticky());
  const RoutingRequest me{.rid = "s"};
  const auto home = static_cast<std::size_t>(ask(fleet, me));
  fleet[home].set_status(WorkerStatus::NotReady);
  const int other = ask(fleet, me);
  EXPECT_NE(other, static_cast<int>(home));
  fleet[home].set_status(WorkerStatus::Ready);
  EXPECT_EQ(ask(fleet, me), other);
}

TEST(Override, ARetryElsewhereDoesNotMoveASession) {
  SimulatedFleet fleet(3, sticky());
  const RoutingRequest request{.rid = "k"};
  const int home = ask(fleet, request);
  const std::uint32_t failed[] = {fleet[static_cast<std::size_t>(home)].serial()};
  int retried = -1;
  if (const auto selected = fleet.select(request, {}, failed)) {
    retried = fleet.number_of(&(*selected)->worker());
  }
  EXPECT_NE(retried, home);
  EXPECT_EQ(ask(fleet, request), home);
  // A home that is out for everybody is another matter.
  fleet[static_cast<std::size_t>(home)].set_status(WorkerStatus::NotReady);
  EXPECT_EQ(ask(fleet, request), retried);
}

TEST(Override, ANewSessionStaysWhereItsRetryWentWell) {
  SimulatedFleet fleet(3, sticky());
  const RoutingRequest request{.rid = "k"};
  const std::uint32_t failed[] = {fleet[0].serial()};
  int home = -1;
  if (const auto selected = fleet.select(request, {}, failed)) {
    home = fleet.number_of(&(*selected)->worker());
  }
  EXPECT_GT(home, 0);
  EXPECT_EQ(ask(fleet, request), home);
}

TEST(Override, OtherAssignmentsDoNotAskThePolicy) {
  config::StickySessions tuning;
  tuning.assignment = AssignmentMode::MinLoad;
  SimulatedFleet fleet(2, make_sticky_policy(make_passthrough_policy(), tuning));
  Held held;
  EXPECT_EQ(open(fleet, held, {}), 0);
  EXPECT_EQ(open(fleet, held, {.rid = "a"}), 1);
}

TEST(Override, LooksLikeThePolicyBeneath) {
  const auto policy = make_sticky_policy(make_cache_aware_policy({}), {});
  EXPECT_EQ(policy->name(), "cache_aware");
  EXPECT_TRUE(policy->reads_prompt());
  EXPECT_FALSE(policy->uses_ring());
  EXPECT_TRUE(make_sticky_policy(make_prefix_hash_policy({}, {}), {})->uses_ring());
}

TEST(PolicyFactory, TheOverrideIsForPoliciesThatAreNotStickyThemselves) {
  config::GatewayConfig config;
  config.fleet.routing_key_override = true;
  struct {
    std::string_view policy;
    bool pins;
  } const cases[] = {{"round_robin", true}, {"Passthrough", true}, {"manual", false}};
  for (const auto& [name, pins] : cases) {
    SimulatedFleet fleet(3, make_policy(name, config));
    std::set<int> seen;
    for (int i = 0; i < 60; ++i) seen.insert(ask(fleet, {.rid = "s"}));
    EXPECT_EQ(seen.size() == 1, pins) << name;
  }
}

TEST(PolicyFactory, KnowsEveryPolicy) {
  for (const std::string_view name :
       {"random", "round_robin", "passthrough", "cache_aware", "power_of_two", "least_load",
        "manual", "consistent_hashing", "prefix_hash", "bucket"}) {
    const auto policy = make_policy(name);
    ASSERT_TRUE(policy) << name;
    EXPECT_EQ(policy->name(), name);
    EXPECT_EQ(policy->reads_prompt(), name == "cache_aware" || name == "bucket") << name;
  }
  EXPECT_EQ(make_policy("PREFIXHASH")->name(), "prefix_hash");
  EXPECT_EQ(make_policy("no-such"), nullptr);
}

}  // namespace
}  // namespace smg::routing
