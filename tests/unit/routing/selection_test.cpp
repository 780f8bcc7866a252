#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "unit/routing/test_fleet.hpp"
#include <smg/routing/selection.hpp>

namespace smg::routing {
namespace {

class SelectionTest : public testing::Test {
 protected:
  static config::CircuitBreaker breaker(int timeout, std::uint32_t trials = 1) {
    config::CircuitBreaker settings;
    settings.failure_threshold = 1;
    settings.success_threshold = trials;
    settings.timeout = config::Seconds{timeout};
    return settings;
  }

  Result<std::unique_ptr<Selection>> select(const std::vector<Worker*>& avoid = {}) {
    const auto table = fleet.table();
    return select_worker(table, *table.find("m"), {}, serials_of(avoid), now);
  }

  /// The workers that many selections choose; empty: none.
  std::set<Worker*> chosen(const std::vector<Worker*>& avoid = {}) {
    std::set<Worker*> workers;
    const auto table = fleet.table();
    for (int i = 0; i < 12; ++i) {
      const auto selection = select_worker(table, *table.find("m"), {}, serials_of(avoid), now);
      if (selection) workers.insert(&(*selection)->worker());
    }
    return workers;
  }

  void fail_once(Worker& worker) {
    const auto permit = worker.breaker().admit(now);
    ASSERT_TRUE(permit);
    worker.breaker().record(*permit, Outcome::Failure, now);
  }

  TestFleet fleet;
  TimePoint now{config::Seconds{100000}};
};

TEST_F(SelectionTest, OnlyReadyWorkersAreChosen) {
  Worker& ready = fleet.add();
  for (const auto status : {WorkerStatus::Pending, WorkerStatus::NotReady, WorkerStatus::Failed,
                            WorkerStatus::Draining}) {
    fleet.add().set_status(status);
  }
  EXPECT_EQ(chosen(), std::set<Worker*>{&ready});
}

TEST_F(SelectionTest, AnOpenBreakerLeavesItsWorkerOut) {
  Worker& good = fleet.add(breaker(60));
  Worker& bad = fleet.add(breaker(60));
  fail_once(bad);
  EXPECT_EQ(chosen(), std::set<Worker*>{&good});
  now += config::Seconds{60};
  EXPECT_EQ(chosen(), (std::set<Worker*>{&good, &bad}));
}

TEST_F(SelectionTest, AvoidsThoseThatFailedWhileAnotherIsThere) {
  Worker& a = fleet.add();
  Worker& b = fleet.add();
  Worker& c = fleet.add();
  EXPECT_EQ(chosen({&a}), (std::set<Worker*>{&b, &c}));
  EXPECT_EQ(chosen({&a, &c}), std::set<Worker*>{&b});
  EXPECT_EQ(chosen({&a, &b, &c}), (std::set<Worker*>{&a, &b, &c})) << "all have failed";
  b.set_status(WorkerStatus::NotReady);
  EXPECT_EQ(chosen({&a, &c}), (std::set<Worker*>{&a, &c})) << "the other one is not available";
}

TEST_F(SelectionTest, CountsTheLoadAsLongAsItLives) {
  Worker& worker = fleet.add();
  {
    const auto first = select();
    const auto second = select();
    EXPECT_EQ(worker.load(), 2U);
  }
  EXPECT_EQ(worker.load(), 0U);
}

TEST_F(SelectionTest, HoldsATrialUntilItIsSettledAndTellsOnlyTheFirstOutcome) {
  Worker& worker = fleet.add(breaker(60));
  fail_once(worker);
  now += config::Seconds{60};
  {
    const auto trial = select();
    ASSERT_TRUE(trial);
    EXPECT_FALSE(select()) << "one trial at a time";
  }
  EXPECT_EQ(worker.breaker().state(), observability::CircuitState::HalfOpen) << "no verdict";
  const auto trial = select();
  ASSERT_TRUE(trial);
  (*trial)->settle(Outcome::Success);
  (*trial)->settle(Outcome::Failure);
  EXPECT_EQ(worker.breaker().state(), observability::CircuitState::Closed);
}

TEST_F(SelectionTest, KeepsItsWorkerAliveBeyondTheTable) {
  fleet.add();
  auto selection = select();
  ASSERT_TRUE(selection);
  const std::weak_ptr<Worker> watch = fleet.workers.front();
  fleet.workers.clear();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ((*selection)->worker().url(), "http://w0");
  selection->reset();
  EXPECT_TRUE(watch.expired());
}

// ---- nobody to choose ---------------------------------------------------------------------------

TEST_F(SelectionTest, NobodyIsAnErrorWithTheTimeAfterWhichToAskAgain) {
  fleet.add({}, config::Seconds{45}).set_status(WorkerStatus::NotReady);
  fleet.add({}, config::Seconds{30}).set_status(WorkerStatus::NotReady);
  const auto none = select();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::NoAvailableWorkers);
  EXPECT_EQ(none.error().message,
            "All workers are unavailable (circuit breaker open or unhealthy)");
  EXPECT_EQ(none.error().retry_after_seconds, 30) << "the next health check";
}

TEST_F(SelectionTest, AnOpenBreakerIsWaitedForInWholeSecondsRoundedUp) {
  fail_once(fleet.add(breaker(20), config::Seconds{60}));
  EXPECT_EQ(select().error().retry_after_seconds, 20);
  now += config::Milliseconds{500};
  EXPECT_EQ(select().error().retry_after_seconds, 20);
  now += config::Milliseconds{19400};
  EXPECT_EQ(select().error().retry_after_seconds, 1);
  fail_once(fleet.add(breaker(7), config::Seconds{60}));
  EXPECT_EQ(select().error().retry_after_seconds, 1) << "the soonest of all";
}

TEST_F(SelectionTest, ABreakerThatOutlastsTheHealthIntervalIsStillWaitedFor) {
  fail_once(fleet.add(breaker(60), config::Seconds{5}));
  EXPECT_EQ(select().error().retry_after_seconds, 60) << "a health check does not close a breaker";
}

/// Trials may end at any moment (ruling 17: the shortest time in which a state can change).
TEST_F(SelectionTest, AHalfOpenBreakerWithAllTrialsUnderWayMayAdmitSoon) {
  fail_once(fleet.add(breaker(20), config::Seconds{60}));
  now += config::Seconds{20};
  const auto trial = select();
  ASSERT_TRUE(trial);
  const auto none = select();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().retry_after_seconds, 1);
}

}  // namespace
}  // namespace smg::routing
