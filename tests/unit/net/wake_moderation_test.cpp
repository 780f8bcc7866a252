#include <gtest/gtest.h>

#include <smg/net/wake_moderation.hpp>

namespace smg::net {
namespace {

using std::chrono::microseconds;

TimePoint at(int us) {
  return TimePoint(std::chrono::hours(1) + microseconds(us));
}

/// A loop whose waits can be made as long as a test wants.
class WakeModerationTest : public testing::Test {
 protected:
  /// Handles something for `work`, then waits for `wait`; returns the pause before the wait.
  Duration turn(int work, int wait) {
    moderation.expect_more();
    now += microseconds(work);
    const auto pause = std::max<Duration>(moderation.pause_before_wait(now), Duration::zero());
    now += pause;
    const auto since = now;
    now += microseconds(wait);
    moderation.woken(since, now);
    return pause;
  }

  /// Turns with a pause until one comes without.
  int pauses(int wait) {
    int count = 0;
    while (count < 1000 && turn(10, wait) > Duration::zero()) ++count;
    return count;
  }

  WakeModeration moderation;
  TimePoint now = at(0);
};

TEST_F(WakeModerationTest, NothingIsHeldBackAtFirst) {
  EXPECT_EQ(turn(10, 0), Duration::zero());
}

TEST_F(WakeModerationTest, AShortWaitIsFollowedByPausesAndThenByASample) {
  turn(10, 5);
  EXPECT_EQ(pauses(5), 15);
  EXPECT_EQ(pauses(5), 15) << "the sample was short, too";
}

TEST_F(WakeModerationTest, APauseEndsAFixedTimeBehindTheLastWake) {
  turn(10, 5);
  EXPECT_EQ(turn(100, 5), WakeModeration::kPause - microseconds(100));
  EXPECT_EQ(turn(5000, 5), Duration::zero()) << "it was busy for longer than that";
}

TEST_F(WakeModerationTest, LongWaitsEndThePauses) {
  turn(10, 100);
  EXPECT_EQ(turn(10, 5), Duration::zero()) << "the wait before was long";
  EXPECT_GT(turn(10, 100), Duration::zero());
  EXPECT_EQ(turn(10, 5), Duration::zero()) << "even after a pause, there was a wait";
}

TEST_F(WakeModerationTest, WhatIsExpectedCountsForOneWait) {
  moderation.expect_more();
  EXPECT_TRUE(moderation.more_expected());
  static_cast<void>(moderation.pause_before_wait(now));
  EXPECT_FALSE(moderation.more_expected());
}

TEST(EventPace, IsTakenFromOneReadToTheNext) {
  struct Case {
    int after;  ///< microseconds since the read before
    std::size_t events;
    bool fast;
  };
  EventPace pace;
  auto now = at(0);
  EXPECT_FALSE(pace.more_within_pause(1, now)) << "the first";
  for (const auto& [after, events, fast] :
       {Case{20000, 1, false}, Case{299, 1, true}, Case{300, 1, false}, Case{2999, 10, true},
        Case{3000, 10, false}, Case{10, 0, false}}) {
    now += microseconds(after);
    EXPECT_EQ(pace.more_within_pause(events, now), fast) << events << " after " << after;
  }
}

}  // namespace
}  // namespace smg::net
