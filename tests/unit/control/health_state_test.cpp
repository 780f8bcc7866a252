#include "control/health_state.hpp"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace smg::control {
namespace {

using routing::WorkerStatus;

/// The status after each check: `+` a success, `-` a failure; r, n and f in the answer.
std::string run(HealthState state, std::string_view checks) {
  std::string history;
  for (const char check : checks) {
    const WorkerStatus before = state.status();
    const auto changed = state.record(check == '+');
    EXPECT_EQ(changed.has_value(), before != state.status());
    if (changed) EXPECT_EQ(*changed, state.status());
    history += name_of(state.status()).front();
  }
  return history;
}

TEST(HealthState, FollowsTheRowOfResults) {
  struct Case {
    std::uint32_t failures;
    std::uint32_t successes;
    std::string_view checks;
    std::string_view history;
  };
  const Case cases[] = {
      {3, 2, "++--+---", "rrrrrrrn"},  // a success starts the row anew
      {3, 2, "---+-++", "rrnnnnr"},    // and so does a failure while recovering
      {1, 1, "-+-+", "nrnr"},          //
      {1, 2, "----", "nnnf"},          // three times the threshold, further
      {2, 2, "--------", "rnnnnnnf"},  //
      {1, 2, "--+---", "nnnnnf"},      // counted from the last success
      {1, 2, "-----++-", "nnnfffrn"},  // failed is not the end
      {1, 1, "----+", "nnnfr"},        //
      {0, 0, "-+", "nr"},              // thresholds of nothing count as one
  };
  for (const auto& [failures, successes, checks, history] : cases) {
    EXPECT_EQ(run(HealthState(failures, successes), checks), history) << checks;
  }
}

TEST(HealthState, GoesOnFromAGivenStatus) {
  EXPECT_EQ(run(HealthState(2, 2, WorkerStatus::NotReady), "+++"), "nrr");
  EXPECT_EQ(run(HealthState(1, 2, WorkerStatus::Failed), "-++"), "ffr");
}

}  // namespace
}  // namespace smg::control
