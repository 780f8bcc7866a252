#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "routing/policies.hpp"
#include "unit/routing/simulated_fleet.hpp"

namespace smg::routing {
namespace {

TEST(Tally, AddsUpWhatManyThreadsCount) {
  constexpr int kThreads = 100;  // more than have memory of their own
  observability::Tally<2> tally;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int event = 0; event < 1000; ++event) tally.count(1);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(tally.total(0), 0U);
  EXPECT_EQ(tally.total(1), kThreads * 1000U);
}

TEST(ShareTally, CountsByTenths) {
  ShareTally shares;
  for (const double share : {0.0, 0.05, 0.1, 0.95, 1.0}) shares.observe(share);
  const std::uint64_t expected[ShareTally::kBuckets] = {1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 2};
  for (std::size_t i = 0; i < ShareTally::kBuckets; ++i) EXPECT_EQ(shares.total(i), expected[i]);
  EXPECT_NEAR(shares.sum(), 2.1, 1e-4);
}

class PolicyTalliesTest : public testing::Test {
 protected:
  RoutingRequest with_text(std::string_view text) {
    RoutingRequest request;
    request.text = text;
    return request;
  }

  SimulatedFleet fleet{3};
  const std::vector<Worker*> all = fleet.all();
  PolicyTalliesPtr tallies = std::make_shared<PolicyTallies>();
};

TEST_F(PolicyTalliesTest, CacheAwareTellsHowItChose) {
  config::CacheAware tuning;
  tuning.balance_abs_threshold = 0;
  tuning.balance_rel_threshold = 1;
  const auto policy = make_cache_aware_policy(tuning, tallies);
  Worker* const first = policy->pick(all, with_text("a prompt of some length"));
  EXPECT_EQ(policy->pick(all, with_text("a prompt of some length")), first);
  const LoadGuard busy(*first);
  EXPECT_NE(policy->pick(all, with_text("a prompt of some length")), first);
  static_cast<void>(policy->pick(all, with_text("something else")));

  EXPECT_EQ(tallies->cache_aware.total(CacheAwareBranch::TreeMatch), 1U);
  EXPECT_EQ(tallies->cache_aware.total(CacheAwareBranch::Spill), 1U);
  EXPECT_EQ(tallies->cache_aware.total(CacheAwareBranch::ExpectedWaitFallback), 2U);
  EXPECT_EQ(tallies->match_share.total(0), 2U);
  EXPECT_EQ(tallies->match_share.total(10), 2U);

  const auto memory = policy->memory();
  ASSERT_TRUE(memory.texts && memory.tokens);
  EXPECT_EQ(memory.texts->units, 2 * 23U + 14U) << "of two holders, and of one";
  EXPECT_EQ(memory.tokens->units, 0U);
  EXPECT_FALSE(memory.placements || memory.sessions);
}

TEST_F(PolicyTalliesTest, TheHashIndexToo) {
  config::CacheAware tuning;
  tuning.index = "hash";
  tuning.boundaries = {2, 4};
  const auto policy = make_cache_aware_policy(tuning, tallies);
  const std::uint32_t tokens[] = {1, 2, 3, 4};
  RoutingRequest request;
  request.tokens = tokens;
  static_cast<void>(policy->pick(all, request));
  static_cast<void>(policy->pick(all, request));
  request.tokens = std::span(tokens).first(1);
  static_cast<void>(policy->pick(all, request));
  EXPECT_EQ(tallies->cache_aware.total(CacheAwareBranch::HashExpectedWait), 1U);
  EXPECT_EQ(tallies->cache_aware.total(CacheAwareBranch::HashHit), 1U);
  EXPECT_EQ(tallies->cache_aware.total(CacheAwareBranch::ShortRequest), 1U);
  EXPECT_EQ(policy->memory().placements, 2U);
}

TEST_F(PolicyTalliesTest, ManualTellsOfItsPins) {
  const auto policy = make_manual_policy({}, tallies);
  RoutingRequest request;
  static_cast<void>(policy->pick(all, request));
  request.routing_key = "k";
  Worker* const pinned = policy->pick(all, request);
  EXPECT_EQ(policy->pick(all, request), pinned);
  auto others = all;
  std::erase(others, pinned);
  static_cast<void>(policy->pick(others, request));
  for (const auto branch : {StickyBranch::NoRoutingId, StickyBranch::Vacant,
                            StickyBranch::OccupiedHit, StickyBranch::OccupiedMiss}) {
    EXPECT_EQ(tallies->sticky.total(branch), 1U) << static_cast<int>(branch);
  }
  EXPECT_EQ(policy->memory().sessions, 1U);
}

TEST_F(PolicyTalliesTest, StickySessionsTellOfTheirKeysAndTheCap) {
  const auto policy = make_sticky_policy(make_round_robin_policy(), {}, tallies);
  RoutingRequest request;
  static_cast<void>(policy->pick(all, request));
  request.session_header = "k";
  std::vector<std::unique_ptr<RequestHold>> holds;
  for (int i = 0; i < 3; ++i) {
    Worker* const chosen = policy->pick(all, request);
    holds.push_back(policy->hold(*chosen, request));
  }
  request.rid = "other";
  static_cast<void>(policy->pick(all, request));
  EXPECT_EQ(tallies->key_source.total(KeySource::Header), 3U);
  EXPECT_EQ(tallies->key_source.total(KeySource::Rid), 1U);
  EXPECT_EQ(tallies->sticky.total(StickyBranch::Vacant), 2U);
  EXPECT_EQ(tallies->sticky.total(StickyBranch::OccupiedHit), 1U);
  EXPECT_EQ(tallies->sticky.total(StickyBranch::CapRespill), 1U);
  EXPECT_EQ(tallies->sticky.total(StickyBranch::NoRoutingId), 0U);
}

TEST_F(PolicyTalliesTest, PrefixHashTellsWhetherItKeptToTheRing) {
  config::PrefixHash tuning;
  tuning.balance_abs_threshold = 0;
  SimulatedFleet ring(3, make_prefix_hash_policy(tuning, {}, tallies));
  EXPECT_TRUE(ring.select(with_text("text")));
  EXPECT_TRUE(ring.select({}));
  const auto owner = ring.select(with_text("text"));
  ASSERT_TRUE(owner);
  ring.add_load(static_cast<std::size_t>(ring.number_of(&(*owner)->worker())), 5);
  EXPECT_TRUE(ring.select(with_text("text")));
  EXPECT_EQ(tallies->prefix_hash.total(PrefixHashBranch::RingHit), 2U);
  EXPECT_EQ(tallies->prefix_hash.total(PrefixHashBranch::NoRoutingKey), 1U);
  EXPECT_EQ(tallies->prefix_hash.total(PrefixHashBranch::FallbackLeastLoad), 1U);
}

TEST_F(PolicyTalliesTest, ConsistentHashingTellsWhatItWentBy) {
  SimulatedFleet ring(3, make_consistent_hashing_policy(tallies));
  RoutingRequest request;
  EXPECT_TRUE(ring.select(request));
  request.routing_key = "k";
  EXPECT_TRUE(ring.select(request));
  request.target_worker = "1";
  EXPECT_TRUE(ring.select(request));
  request.target_worker = "9";
  EXPECT_FALSE(ring.select(request));
  for (const auto branch :
       {ConsistentHashingBranch::RandomFallback, ConsistentHashingBranch::RoutingKeyHit,
        ConsistentHashingBranch::TargetWorkerHit, ConsistentHashingBranch::TargetWorkerMiss}) {
    EXPECT_EQ(tallies->consistent_hashing.total(branch), 1U) << static_cast<int>(branch);
  }
}

}  // namespace
}  // namespace smg::routing
