#include <gtest/gtest.h>

#include <smg/net/wake_rate.hpp>

namespace smg::net {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

class WakeRateTest : public testing::Test {
 protected:
  /// Turns of the loop, each `apart` from the one before, for 3 events or by turns for one of
  /// `events`; whether it is busy after the last.
  bool turn(std::size_t turns, Duration apart, std::initializer_list<std::size_t> events = {3}) {
    bool busy = false;
    for (std::size_t i = 0; i < turns; ++i) {
      now += apart;
      busy = rate.turned(std::data(events)[i % events.size()], now);
    }
    return busy;
  }

  WakeRate rate;
  TimePoint now{std::chrono::hours(1)};
};

TEST_F(WakeRateTest, ALoopThatTurnsRarelyIsNotBusy) {
  EXPECT_FALSE(turn(1000, milliseconds(1)));
  EXPECT_FALSE(turn(1000, milliseconds(100)));
}

TEST_F(WakeRateTest, ItIsBusyAsSoonAsAWindowHasEnoughTurns) {
  turn(1, milliseconds(100));  // ends an empty window
  EXPECT_FALSE(turn(WakeRate::kBusyFrom - 1, microseconds(100)));
  EXPECT_TRUE(turn(1, microseconds(100)));
}

TEST_F(WakeRateTest, ItStaysBusyWithFewerTurnsThanMadeItSo) {
  turn(200, microseconds(100));
  const auto apart = WakeRate::kWindow / (WakeRate::kBusyUntil + 4);
  EXPECT_TRUE(turn(1000, apart));
  turn(2, milliseconds(100));
  EXPECT_FALSE(turn(1000, apart)) << "which would not make it busy";
}

TEST_F(WakeRateTest, OneConnectionAloneNeverMakesItBusy) {
  EXPECT_FALSE(turn(1000, microseconds(100), {1}));
  EXPECT_FALSE(turn(1000, microseconds(100), {1, 1, 2}));
  EXPECT_TRUE(turn(1000, microseconds(100), {1, 2}));
  EXPECT_TRUE(turn(1000, microseconds(100), {1, 1, 2})) << "enough to stay so";
  EXPECT_FALSE(turn(1000, microseconds(100), {1, 1, 1, 1, 2}));
}

TEST_F(WakeRateTest, APauseEndsIt) {
  turn(200, microseconds(100));
  EXPECT_FALSE(turn(1, milliseconds(100)));
}

TEST_F(WakeRateTest, ASlowWindowEndsIt) {
  turn(200, microseconds(100));
  EXPECT_FALSE(turn(2 * WakeRate::kBusyUntil, WakeRate::kWindow / (WakeRate::kBusyUntil - 4)));
}

}  // namespace
}  // namespace smg::net
