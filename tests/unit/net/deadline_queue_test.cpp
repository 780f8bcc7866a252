#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include <smg/net/deadline_queue.hpp>

namespace smg::net {
namespace {

using std::chrono::milliseconds;

TimePoint g_now{};

TimePoint at(int ms) {
  return TimePoint(milliseconds(ms));
}

class DeadlineQueueTest : public testing::Test {
 protected:
  DeadlineQueueTest() { g_now = at(0); }

  std::unique_ptr<Deadline> make(int id) {
    return std::make_unique<Deadline>(queue, [this, id] { fired.push_back(id); });
  }

  void advance_to(int ms) {
    g_now = at(ms);
    queue.advance(g_now);
  }

  DeadlineQueue queue{[] { return g_now; }};
  std::vector<int> fired;
};

TEST_F(DeadlineQueueTest, FiresInOrderOfTimeAndOnlyWhatIsDue) {
  const auto late = make(3);
  const auto soon = make(1);
  const auto middle = make(2);
  late->arm(milliseconds(30));
  soon->arm(milliseconds(10));
  middle->arm(milliseconds(20));
  advance_to(9);
  EXPECT_TRUE(fired.empty());
  advance_to(20);
  EXPECT_EQ(fired, (std::vector{1, 2}));
  EXPECT_FALSE(soon->armed());
  EXPECT_TRUE(late->armed());
  advance_to(1000);
  EXPECT_EQ(fired, (std::vector{1, 2, 3}));
  EXPECT_TRUE(queue.empty());
  advance_to(2000);
  EXPECT_EQ(fired.size(), 3U) << "a deadline fires once";
}

TEST_F(DeadlineQueueTest, ArmingAgainMovesIt) {
  const auto deadline = make(1);
  deadline->arm(milliseconds(10));
  g_now = at(5);
  deadline->arm(milliseconds(10));
  EXPECT_EQ(deadline->when(), at(15));
  advance_to(14);
  EXPECT_TRUE(fired.empty());
  advance_to(15);
  EXPECT_EQ(fired.size(), 1U);
  deadline->arm_at(at(20));
  advance_to(20);
  EXPECT_EQ(fired.size(), 2U);
}

TEST_F(DeadlineQueueTest, ZeroAndNegativeMeanNoLimitAndDisarm) {
  const auto deadline = make(1);
  for (const int after : {0, -1}) {
    deadline->arm(milliseconds(10));
    deadline->arm(milliseconds(after));
    EXPECT_FALSE(deadline->armed());
  }
  advance_to(1000);
  EXPECT_TRUE(fired.empty());
}

TEST_F(DeadlineQueueTest, DisarmedAndDestroyedOnesDoNotFire) {
  const auto kept = make(1);
  const auto disarmed = make(2);
  auto destroyed = make(3);
  for (Deadline* d : {kept.get(), disarmed.get(), destroyed.get()}) d->arm(milliseconds(10));
  disarmed->disarm();
  disarmed->disarm();
  destroyed.reset();
  advance_to(10);
  EXPECT_EQ(fired, std::vector{1});
  EXPECT_TRUE(queue.empty());
}

TEST_F(DeadlineQueueTest, CallbackMayArmItselfAndOthers) {
  Deadline other(queue, [this] { fired.push_back(2); });
  std::optional<Deadline> self;
  self.emplace(queue, [&] {
    fired.push_back(1);
    if (fired.size() < 3) self->arm(milliseconds(10));
    other.arm_at(g_now);
  });
  self->arm(milliseconds(10));
  advance_to(10);
  EXPECT_EQ(fired, (std::vector{1, 2})) << "what is due at once fires in the same turn";
  EXPECT_TRUE(self->armed());
  advance_to(20);
  EXPECT_EQ(fired, (std::vector{1, 2, 1, 2}));
}

TEST_F(DeadlineQueueTest, CallbackMayDisarmAndDestroyOthersThatAreDue) {
  auto doomed = make(2);
  const auto disarmed = make(3);
  Deadline first(queue, [&] {
    fired.push_back(1);
    doomed.reset();
    disarmed->disarm();
  });
  first.arm(milliseconds(5));
  doomed->arm(milliseconds(6));
  disarmed->arm(milliseconds(7));
  advance_to(10);
  EXPECT_EQ(fired, std::vector{1});
}

TEST_F(DeadlineQueueTest, KnowsTheEarliest) {
  const auto a = make(1);
  const auto b = make(2);
  a->arm_at(at(20));
  b->arm_at(at(30));
  EXPECT_EQ(queue.earliest(), at(20));
  b->arm_at(at(10));
  EXPECT_EQ(queue.earliest(), at(10));
  b->disarm();
  EXPECT_EQ(queue.earliest(), at(20));
}

TEST_F(DeadlineQueueTest, ThousandsOfRandomStepsAgreeWithASortedMap) {
  std::minstd_rand random(5);
  constexpr std::size_t kCount = 300;
  std::vector<std::unique_ptr<Deadline>> deadlines;
  for (std::size_t i = 0; i < kCount; ++i) deadlines.push_back(make(static_cast<int>(i)));
  std::vector<std::optional<int>> model(kCount);
  int now = 0;
  for (int step = 0; step < 20000; ++step) {
    const auto i = random() % kCount;
    const auto action = random() % 10;
    if (action < 6) {
      const int after = static_cast<int>(random() % 50) + 1;
      deadlines[i]->arm(milliseconds(after));
      model[i] = now + after;
    } else if (action == 6) {
      deadlines[i]->disarm();
      model[i].reset();
    } else if (action == 7) {
      deadlines[i] = make(static_cast<int>(i));
      model[i].reset();
    } else {
      now += static_cast<int>(random() % 5);
      fired.clear();
      advance_to(now);
      std::multimap<int, int> due;
      for (std::size_t k = 0; k < kCount; ++k) {
        if (model[k] && *model[k] <= now) due.emplace(*model[k], static_cast<int>(k));
      }
      ASSERT_EQ(fired.size(), due.size()) << "step " << step;
      auto expected = due.begin();
      for (const int id : fired) {
        ASSERT_EQ(model[static_cast<std::size_t>(id)], expected->first) << "step " << step;
        model[static_cast<std::size_t>(id)].reset();
        ++expected;
      }
    }
    ASSERT_EQ(deadlines[i]->armed(), model[i].has_value()) << "step " << step;
  }
}

}  // namespace
}  // namespace smg::net
