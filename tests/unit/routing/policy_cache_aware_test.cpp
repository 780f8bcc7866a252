#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "routing/policies.hpp"
#include "unit/routing/simulated_fleet.hpp"

namespace smg::routing {
namespace {

using Tokens = std::vector<std::uint32_t>;

const std::string kLong(300, 'l');

Tokens count_up(std::uint32_t from, std::size_t count) {
  Tokens ids(count);
  std::iota(ids.begin(), ids.end(), from);
  return ids;
}

class CacheAwareTest : public testing::Test {
 protected:
  static SimulatedFleet fleet_of(std::size_t size, const config::CacheAware& tuning = {}) {
    return SimulatedFleet(size, make_cache_aware_policy(tuning));
  }
  static int ask(SimulatedFleet& fleet, const RoutingRequest& request, TimePoint now = {}) {
    return fleet.number_of(&(*fleet.select(request, now))->worker());
  }
  static void load(SimulatedFleet& fleet, int number, int count) {
    fleet.add_load(static_cast<std::size_t>(number), count);
  }
};

TEST_F(CacheAwareTest, ASharedPrefixReturnsToItsWorker) {
  auto fleet = fleet_of(4);
  const std::string first = kLong + "first";
  const int home = ask(fleet, {.text = first});
  for (int i = 0; i < 20; ++i) {
    const std::string text = kLong + std::to_string(i);
    EXPECT_EQ(ask(fleet, {.text = text}), home);
  }
}

TEST_F(CacheAwareTest, TheSharedPartMustExceedTheThreshold) {
  struct {
    double threshold;
    std::size_t shared;
    std::string unit;
    bool sticks;
  } const cases[] = {
      {0.3, 31, "a", true},
      {0.3, 30, "a", false},
      {0.8, 81, "a", true},
      {0.8, 80, "a", false},
      {0.0, 1, "a", true},
      {0.0, 0, "a", false},
      {1.0, 100, "a", false},
      // Characters count, not bytes.
      {0.3, 31, "ü", true},
      {0.3, 30, "ü", false},
      {0.3, 31, "語", true},
      {0.3, 30, "語", false},
  };
  for (const auto& [threshold, shared, unit, sticks] : cases) {
    config::CacheAware tuning;
    tuning.match_threshold = threshold;
    auto fleet = fleet_of(2, tuning);
    std::string head;
    std::string all;
    for (std::size_t i = 0; i < 100; ++i) (i < shared ? head : all) += unit;
    const std::string warm_text = head + all;
    const std::string text = head + std::string(100 - shared, 'z');
    const int warm = ask(fleet, {.text = warm_text});
    load(fleet, warm, 1);
    EXPECT_EQ(ask(fleet, {.text = text}) == warm, sticks) << threshold << " " << shared << unit;
  }
}

TEST_F(CacheAwareTest, ACharacterThatMatchesInPartDoesNotCount) {
  config::CacheAware tuning;
  tuning.match_threshold = 0.5;
  auto fleet = fleet_of(2, tuning);
  // é and è share their first byte: one character of two is common.
  const int warm = ask(fleet, {.text = "a\xc3\xa9"});
  load(fleet, warm, 1);
  EXPECT_NE(ask(fleet, {.text = "a\xc3\xa8"}), warm);
}

TEST_F(CacheAwareTest, TokensAreCountedInPages) {
  for (const auto& [shared, sticks] : {std::pair{15, false}, {16, true}, {20, true}}) {
    auto fleet = fleet_of(2);
    const auto warm_ids = count_up(100, 20);
    const int warm = ask(fleet, {.tokens = warm_ids});
    load(fleet, warm, 1);
    auto ids = count_up(100, static_cast<std::size_t>(shared));
    for (const auto id : count_up(900, static_cast<std::size_t>(20 - shared))) ids.push_back(id);
    EXPECT_EQ(ask(fleet, {.tokens = ids}) == warm, sticks) << shared;
  }
}

TEST_F(CacheAwareTest, TokensAndTextsDoNotKnowOfEachOther) {
  auto fleet = fleet_of(2);
  const int warm = ask(fleet, {.text = kLong});
  load(fleet, warm, 1);
  const auto ids = count_up(0, 64);
  const std::string_view bytes(reinterpret_cast<const char*>(ids.data()), ids.size() * 4);
  EXPECT_NE(ask(fleet, {.tokens = ids, .text = kLong}), warm);
  EXPECT_EQ(ask(fleet, {.text = kLong}), warm);
  auto again = fleet_of(2);
  const int home = ask(again, {.tokens = ids});
  load(again, home, 1);
  EXPECT_NE(ask(again, {.text = bytes}), home);
}

TEST_F(CacheAwareTest, SpillsAboveBothThresholds) {
  struct {
    std::uint64_t abs_threshold;
    double rel_threshold;
    int most;  ///< requests in flight at the warm worker with which the next one still goes there
  } const cases[] = {
      // Two workers, all load at one: the mean is half of it.
      {64, 1.5, 128}, {2, 1.5, 4}, {2, 2.0, 1000}, {2, 1.9, 4}, {0, 1.0, 0},
  };
  for (const auto& [abs_threshold, rel_threshold, most] : cases) {
    config::CacheAware tuning;
    tuning.balance_abs_threshold = abs_threshold;
    tuning.balance_rel_threshold = rel_threshold;
    auto fleet = fleet_of(2, tuning);
    const int warm = ask(fleet, {.text = kLong});
    load(fleet, warm, most);
    EXPECT_EQ(ask(fleet, {.text = kLong}), warm) << abs_threshold << " " << rel_threshold;
    if (most == 1000) continue;
    load(fleet, warm, 1);
    const int spilled = ask(fleet, {.text = kLong});
    EXPECT_NE(spilled, warm) << abs_threshold << " " << rel_threshold;
    // Now both know it, and the less loaded is taken.
    EXPECT_EQ(ask(fleet, {.text = kLong}), spilled);
  }
}

TEST_F(CacheAwareTest, ANewPromptGoesWhereTheWaitIsShortest) {
  auto fleet = fleet_of(3);
  load(fleet, 0, 1);
  load(fleet, 2, 1);
  for (int i = 0; i < 10; ++i) {
    const std::string text = std::to_string(i) + " is new";
    EXPECT_EQ(ask(fleet, {.text = text}), 1);
  }
  fleet[1].board().publish({0.9, 0, 100000, 0});
  fleet[2].board().publish({0.9, 0, 100000, 0});
  fleet[0].board().publish({});
  for (int i = 0; i < 10; ++i) {
    const std::string text = std::to_string(i) + ". another";
    EXPECT_EQ(ask(fleet, {.text = text}), 0);
  }
}

TEST_F(CacheAwareTest, NoPromptIsNew) {
  auto fleet = fleet_of(2);
  load(fleet, 0, 1);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(ask(fleet, {}), 1);
}

TEST_F(CacheAwareTest, WithoutItsWarmWorkerAPromptFindsAnotherHome) {
  auto fleet = fleet_of(3);
  const auto warm = static_cast<std::size_t>(ask(fleet, {.text = kLong}));
  fleet[warm].set_status(WorkerStatus::NotReady);
  const int refuge = ask(fleet, {.text = kLong});
  EXPECT_NE(refuge, static_cast<int>(warm));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(ask(fleet, {.text = kLong}), refuge);
}

TEST_F(CacheAwareTest, ASingleEligibleWorkerLearnsToo) {
  auto fleet = fleet_of(2);
  fleet[0].set_status(WorkerStatus::NotReady);
  EXPECT_EQ(ask(fleet, {.text = kLong}), 1);
  fleet[0].set_status(WorkerStatus::Ready);
  load(fleet, 1, 1);
  EXPECT_EQ(ask(fleet, {.text = kLong}), 1);
}

TEST_F(CacheAwareTest, FullOrUnevenCachesSwitchAffinityOff) {
  struct {
    std::string_view what;
    double overload;
    double balance;
    double hot;
    double cold;
    bool sticks;
  } const cases[] = {
      {"off", 1, 1, 1, 0, true},
      {"below the ceiling", 0.9, 1, 0.9, 0.5, true},
      {"above the ceiling", 0.9, 1, 0.91, 0.5, false},
      {"even", 1, 0.25, 0.75, 0.5, true},
      {"uneven", 1, 0.25, 0.76, 0.5, false},
  };
  for (const auto& [what, overload, balance, hot, cold, sticks] : cases) {
    config::CacheAware tuning;
    tuning.overload_token_usage_threshold = overload;
    tuning.balance_token_usage_threshold = balance;
    auto fleet = fleet_of(2, tuning);
    const int warm = ask(fleet, {.text = kLong});
    fleet[static_cast<std::size_t>(warm)].board().publish({hot, 0, 0, 0});
    fleet[static_cast<std::size_t>(1 - warm)].board().publish({cold, 0, 0, 0});
    EXPECT_EQ(ask(fleet, {.text = kLong}) == warm, sticks) << what;
  }
}

TEST_F(CacheAwareTest, ForgetsBeyondItsBudget) {
  config::CacheAware tuning;
  tuning.max_tree_size = 1000;
  auto fleet = fleet_of(2, tuning);
  const int warm = ask(fleet, {.text = kLong});
  load(fleet, warm, 1);
  EXPECT_EQ(ask(fleet, {.text = kLong}), warm);
  for (const char c : {'p', 'q', 'r', 's'}) {
    const std::string text(300, c);
    static_cast<void>(ask(fleet, {.text = text}));
  }
  EXPECT_NE(ask(fleet, {.text = kLong}), warm);
}

TEST_F(CacheAwareTest, DecayTurnsFromABusyCandidate) {
  for (const double temperature : {0.0, 0.001}) {
    config::CacheAware tuning;
    tuning.overlap_decay = 1;
    tuning.selection_temperature = temperature;
    tuning.balance_abs_threshold = 0;
    tuning.balance_rel_threshold = 1;
    auto fleet = fleet_of(2, tuning);
    const int first = ask(fleet, {.text = kLong});
    load(fleet, first, 1);
    const int second = ask(fleet, {.text = kLong});
    ASSERT_NE(first, second);
    fleet.end_requests();
    // Both know the prompt; tokens wait at the first one.
    fleet[static_cast<std::size_t>(first)].board().publish({0, 0, 5000, 0});
    fleet[static_cast<std::size_t>(second)].board().publish({0, 0, 100, 0});
    for (int i = 0; i < 20; ++i) EXPECT_EQ(ask(fleet, {.text = kLong}), second);
  }
}

TEST_F(CacheAwareTest, ATemperatureSpreadsOverTheCandidates) {
  config::CacheAware tuning;
  tuning.selection_temperature = 10;
  tuning.balance_abs_threshold = 0;
  tuning.balance_rel_threshold = 1;
  auto fleet = fleet_of(2, tuning);
  load(fleet, ask(fleet, {.text = kLong}), 1);
  static_cast<void>(ask(fleet, {.text = kLong}));
  fleet.end_requests();
  std::set<int> seen;
  for (int i = 0; i < 100; ++i) seen.insert(ask(fleet, {.text = kLong}));
  EXPECT_EQ(seen.size(), 2U);
}

class HashedTest : public CacheAwareTest {
 protected:
  static config::CacheAware hashed() {
    config::CacheAware tuning;
    tuning.index = "hash";
    tuning.boundaries = {8, 32};
    return tuning;
  }
};

TEST_F(HashedTest, AHeadReturnsToItsWorker) {
  struct {
    std::string_view what;
    std::size_t first;
    std::size_t shared;
    std::size_t second;
    bool sticks;
  } const cases[] = {
      {"the whole", 40, 40, 40, true},     {"the deepest boundary", 40, 32, 50, true},
      {"a shorter one", 40, 20, 50, true}, {"one token before it", 40, 7, 50, false},
      {"a short request", 7, 7, 7, false}, {"short, then long", 8, 8, 100, true},
  };
  for (const auto& [what, first, shared, second, sticks] : cases) {
    auto fleet = fleet_of(2, hashed());
    const auto warm_ids = count_up(1, first);
    const int warm = ask(fleet, {.tokens = warm_ids});
    load(fleet, warm, 1);
    auto ids = count_up(1, shared);
    for (const auto id : count_up(9000, second - shared)) ids.push_back(id);
    EXPECT_EQ(ask(fleet, {.tokens = ids}) == warm, sticks) << what;
  }
}

TEST_F(HashedTest, TextsAreNotIndexed) {
  auto fleet = fleet_of(2, hashed());
  const int first = ask(fleet, {.text = kLong});
  load(fleet, first, 1);
  EXPECT_NE(ask(fleet, {.text = kLong}), first);
}

TEST_F(HashedTest, AHeadExpires) {
  auto fleet = fleet_of(2, hashed());
  const auto ids = count_up(1, 40);
  const int warm = ask(fleet, {.tokens = ids}, at_second(0));
  load(fleet, warm, 1);
  EXPECT_EQ(ask(fleet, {.tokens = ids}, at_second(179)), warm);
  EXPECT_EQ(ask(fleet, {.tokens = ids}, at_second(358)), warm);
  EXPECT_NE(ask(fleet, {.tokens = ids}, at_second(539)), warm);
}

TEST_F(HashedTest, SpillsLikeTheTree) {
  auto tuning = hashed();
  tuning.balance_abs_threshold = 2;
  auto fleet = fleet_of(2, tuning);
  const auto ids = count_up(1, 40);
  const int warm = ask(fleet, {.tokens = ids});
  load(fleet, warm, 4);
  EXPECT_EQ(ask(fleet, {.tokens = ids}), warm);
  load(fleet, warm, 1);
  EXPECT_NE(ask(fleet, {.tokens = ids}), warm);
}

}  // namespace
}  // namespace smg::routing
