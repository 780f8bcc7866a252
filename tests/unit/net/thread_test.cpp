#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>

#include <smg/net/thread.hpp>

namespace smg::net {
namespace {

/// What the scheduler goes by, after each of these calls on a thread that starts with `first`.
std::vector<int> policies(int first, std::initializer_list<bool> calls) {
  std::vector<int> seen;
  std::thread thread([&] {
    constexpr sched_param kNoPriority{};
    ASSERT_EQ(::sched_setscheduler(0, first, &kNoPriority), 0);
    WakePolicy policy;
    for (const bool wait : calls) {
      policy.wait_for_turn(wait);
      seen.push_back(::sched_getscheduler(0));
    }
  });
  thread.join();
  return seen;
}

TEST(WakePolicy, GoesBackAndForth) {
  const std::vector<int> expected{SCHED_OTHER, SCHED_BATCH, SCHED_BATCH, SCHED_OTHER, SCHED_BATCH};
  EXPECT_EQ(policies(SCHED_OTHER, {false, true, true, false, true}), expected);
}

TEST(WakePolicy, LeavesWhatSomebodyElseChose) {
  const std::vector<int> expected{SCHED_IDLE, SCHED_IDLE, SCHED_IDLE};
  EXPECT_EQ(policies(SCHED_IDLE, {true, false, true}), expected);
}

}  // namespace
}  // namespace smg::net
