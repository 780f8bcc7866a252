#include <set>

#include <gtest/gtest.h>

#include "routing/policies.hpp"
#include "unit/routing/simulated_fleet.hpp"

namespace smg::routing {
namespace {

class ConsistentHashingTest : public testing::Test {
 protected:
  int pick(const RoutingRequest& request) {
    const auto selected = fleet_.select(request);
    return selected ? fleet_.number_of(&(*selected)->worker()) : -1;
  }
  int home_of(std::string_view key) { return pick({.routing_key = key}); }

  SimulatedFleet fleet_{7, make_consistent_hashing_policy()};
};

TEST_F(ConsistentHashingTest, PlacesKeysLikeTheOracle) {
  Checksum sum;
  for (int i = 0; i < 2000; ++i) sum.add(home_of("session-" + std::to_string(i)));
  EXPECT_EQ(sum.value(), 0xd3a970d18313420aU);
}

TEST_F(ConsistentHashingTest, WalksPastWorkersThatAreOut) {
  for (const std::size_t out : {2U, 5U}) fleet_[out].set_status(WorkerStatus::NotReady);
  Checksum sum;
  for (int i = 0; i < 2000; ++i) sum.add(home_of("session-" + std::to_string(i)));
  EXPECT_EQ(sum.value(), 0xbfe556ef113c0a3aU);
}

TEST_F(ConsistentHashingTest, WithoutATableItPlacesTheSame) {
  const auto policy = make_consistent_hashing_policy();
  const RoutingRequest request{.routing_key = "session-4"};
  EXPECT_EQ(fleet_.number_of(policy->pick(fleet_.all(), request)), 6);
}

TEST_F(ConsistentHashingTest, TakesTheFirstIdentity) {
  const std::string too_long(129, 'x');
  const std::string longest(128, 'x');
  struct {
    std::string_view what;
    RoutingRequest request;
    std::string_view key;
  } const cases[] = {
      {"cookie", {.cookie = "c"}, "c"},
      {"address", {.x_forwarded_for = "10.0.0.1", .cookie = "c"}, "10.0.0.1"},
      {"credential",
       {.authorization = "Bearer 1", .x_forwarded_for = "2", .cookie = "c"},
       "Bearer 1"},
      {"key", {.routing_key = "k", .authorization = "Bearer 1"}, "k"},
      {"rid", {.routing_key = "k", .rid = "session"}, "session"},
      {"turns of a rid", {.rid = "session_t7_r2"}, "session"},
      {"a key is taken whole", {.routing_key = "session_t7"}, "session_t7"},
      {"128 bytes", {.routing_key = longest}, longest},
      {"a key that is too long", {.routing_key = too_long, .cookie = "c"}, "c"},
      {"a key that is not UTF-8", {.routing_key = "\xff", .cookie = "c"}, "c"},
      {"a key beyond ASCII", {.routing_key = "ключ"}, "ключ"},
      {"a header of the session, whole", {.routing_key = "k", .session_header = "s_t1"}, "s_t1"},
      {"a rid before it", {.rid = "session", .session_header = "s_t1"}, "session"},
      {"a rid that is too long", {.routing_key = "k", .rid = too_long}, "k"},
  };
  for (const auto& [what, request, key] : cases) EXPECT_EQ(pick(request), home_of(key)) << what;
}

TEST_F(ConsistentHashingTest, LongCredentialsCount) {
  const std::string token = "Bearer " + std::string(5000, 'e');
  std::set<int> homes;
  for (int i = 0; i < 20; ++i) homes.insert(pick({.authorization = token}));
  EXPECT_EQ(homes.size(), 1U);
}

TEST_F(ConsistentHashingTest, WithoutAnIdentityItGoesAnywhere) {
  const RoutingRequest cases[] = {
      {},
      {.authorization = "", .cookie = "c"},
      {.x_forwarded_for = "\xc3\xa9", .cookie = "c"},
      {.routing_key = ""},
  };
  for (const auto& request : cases) {
    std::set<int> seen;
    for (int i = 0; i < 300; ++i) seen.insert(pick(request));
    EXPECT_EQ(seen.size(), 7U);
  }
}

TEST_F(ConsistentHashingTest, ATargetIsNamedByIndexIdOrUrl) {
  struct {
    std::string_view target;
    int worker;
  } const cases[] = {
      {"0", 0}, {"6", 6}, {"id-3", 3}, {"http://10.0.0.3:8000", 2}, {"http://10.0.0.3:8000/", 2},
  };
  for (const auto& [target, worker] : cases) {
    EXPECT_EQ(pick({.routing_key = "k", .target_worker = target}), worker) << target;
  }
  EXPECT_EQ(pick({.routing_key = "k", .target_worker = ""}), home_of("k"));
}

TEST_F(ConsistentHashingTest, AnImpossibleTargetIsTheClientsFault) {
  for (const auto target : {"7", "-1", "abc", "1.0", "+1", " 1", "id-7", "http://elsewhere:1",
                            "99999999999999999999"}) {
    const auto selected = fleet_.select({.target_worker = target});
    ASSERT_FALSE(selected) << target;
    EXPECT_EQ(selected.error().code, ErrorCode::InvalidTargetWorker) << target;
  }
}

TEST_F(ConsistentHashingTest, ATargetThatIsOutIsNotReplaced) {
  fleet_[1].set_status(WorkerStatus::NotReady);
  const auto selected = fleet_.select({.target_worker = "1"});
  ASSERT_FALSE(selected);
  EXPECT_EQ(selected.error().code, ErrorCode::NoAvailableWorkers);
  const auto wait = fleet_[1].facts().health.interval.count();
  EXPECT_EQ(selected.error().retry_after_seconds, wait) << "its own, whoever else is there";
  EXPECT_EQ(pick({.target_worker = "2"}), 2);
}

TEST_F(ConsistentHashingTest, ARetryGoesElsewhereUnlessTheTargetIsNamed) {
  Worker* const home = &fleet_[static_cast<std::size_t>(home_of("k"))];
  const std::uint32_t avoid[] = {home->serial()};
  const auto free = select_worker(fleet_.table(), fleet_.pool(), {.routing_key = "k"}, avoid, {});
  ASSERT_TRUE(free);
  EXPECT_NE(&(*free)->worker(), home);
  const RoutingRequest named{.target_worker = home->url()};
  const auto bound = select_worker(fleet_.table(), fleet_.pool(), named, avoid, {});
  ASSERT_TRUE(bound);
  EXPECT_EQ(&(*bound)->worker(), home);
}

TEST(OtherPolicies, IgnoreATarget) {
  SimulatedFleet fleet(2, make_passthrough_policy());
  for (const auto target : {"1", "9"}) {
    const auto selected = fleet.select({.target_worker = target});
    ASSERT_TRUE(selected);
    EXPECT_EQ(fleet.number_of(&(*selected)->worker()), 0);
  }
}

}  // namespace
}  // namespace smg::routing
