#include <map>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "routing/policies.hpp"
#include "unit/routing/test_fleet.hpp"

namespace smg::routing {
namespace {

class SimplePoliciesTest : public testing::Test {
 protected:
  SimplePoliciesTest() {
    for (int i = 0; i < 4; ++i) fleet.add();
  }

  /// How often each worker is picked.
  std::map<Worker*, int> count_picks(Policy& policy, const std::vector<Worker*>& eligible,
                                     int picks) {
    std::map<Worker*, int> counts;
    for (int i = 0; i < picks; ++i) ++counts[policy.pick(eligible, {})];
    return counts;
  }

  TestFleet fleet;
};

TEST_F(SimplePoliciesTest, RoundRobinTakesOneAfterTheOther) {
  const auto policy = make_policy("round_robin");
  const auto all = fleet.pointers();
  std::vector<Worker*> picks;
  for (int i = 0; i < 8; ++i) picks.push_back(policy->pick(all, {}));
  for (std::size_t i = 0; i + 1 < picks.size(); ++i) {
    const auto at =
        static_cast<std::size_t>(std::find(all.begin(), all.end(), picks[i]) - all.begin());
    EXPECT_EQ(picks[i + 1], all[(at + 1) % 4]) << i;
  }
}

TEST_F(SimplePoliciesTest, RoundRobinStaysEvenWhenTheFleetChanges) {
  const auto policy = make_policy("round_robin");
  for (const std::size_t size : {4U, 3U, 4U, 1U, 2U}) {
    auto eligible = fleet.pointers();
    eligible.resize(size);
    const auto counts = count_picks(*policy, eligible, static_cast<int>(size) * 10);
    EXPECT_EQ(counts.size(), size);
    for (const auto& [worker, count] : counts) EXPECT_EQ(count, 10) << size;
  }
}

TEST_F(SimplePoliciesTest, RandomIsRoughlyUniform) {
  const auto policy = make_policy("random");
  const auto counts = count_picks(*policy, fleet.pointers(), 8000);
  EXPECT_EQ(counts.size(), 4U);
  for (const auto& [worker, count] : counts) {
    EXPECT_GT(count, 1600);
    EXPECT_LT(count, 2400);
  }
}

TEST_F(SimplePoliciesTest, PassthroughTakesTheFirst) {
  const auto policy = make_policy("passthrough");
  EXPECT_EQ(count_picks(*policy, fleet.pointers(), 10),
            (std::map<Worker*, int>{{fleet.workers[0].get(), 10}}));
}

TEST_F(SimplePoliciesTest, LeastLoadedIsTheLeastAndTiesAreSpread) {
  const auto all = fleet.pointers();
  const LoadGuard first(*all[0]);
  const LoadGuard third(*all[2]);
  std::map<Worker*, int> counts;
  for (int i = 0; i < 2000; ++i) ++counts[least_loaded(all)];
  EXPECT_EQ(counts.size(), 2U) << "only the idle ones";
  EXPECT_GT(counts[all[1]], 700);
  EXPECT_GT(counts[all[3]], 700);
  EXPECT_EQ(least_loaded({}), nullptr);
}

TEST_F(SimplePoliciesTest, PowerOfTwoOfOneIsTheOne) {
  const auto policy = make_policy("power_of_two");
  auto one = fleet.pointers();
  one.resize(1);
  EXPECT_EQ(policy->pick(one, {}), one.front());
}

TEST_F(SimplePoliciesTest, NamesAreReadLeniently) {
  const struct {
    std::string_view name;
    std::string_view known_as;
    bool reads_prompt;
  } cases[] = {{"round_robin", "round_robin", false},   {"RoundRobin", "round_robin", false},
               {"ROUND_ROBIN", "round_robin", false},   {"random", "random", false},
               {"passthrough", "passthrough", false},   {"least_load", "least_load", false},
               {"power_of_two", "power_of_two", false}, {"cache_aware", "cache_aware", true}};
  for (const auto& c : cases) {
    const auto policy = make_policy(c.name);
    ASSERT_NE(policy, nullptr) << c.name;
    EXPECT_EQ(policy->name(), c.known_as);
    EXPECT_EQ(policy->reads_prompt(), c.reads_prompt) << c.name;
  }
  for (const std::string_view unknown : {"", "_", "roundrobin2", "round-robin", "best"}) {
    EXPECT_EQ(make_policy(unknown), nullptr) << unknown;
  }
}

}  // namespace
}  // namespace smg::routing
