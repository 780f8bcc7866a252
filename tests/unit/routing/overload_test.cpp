#include <set>

#include <gtest/gtest.h>

#include "unit/routing/test_fleet.hpp"
#include <smg/routing/selection.hpp>

namespace smg::routing {
namespace {

TEST(OverloadLimits, AreReachedInclusively) {
  const struct {
    OverloadLimits limits;
    LoadReport report;
    bool reached;
  } cases[] = {
      {{}, {.token_usage = 1, .waiting_requests = 1000}, false},
      {{5, {}}, {.token_usage = 1, .waiting_requests = 4}, false},
      {{5, {}}, {.waiting_requests = 5}, true},
      {{{}, 0.9}, {.token_usage = 0.89, .waiting_requests = 1000}, false},
      {{{}, 0.9}, {.token_usage = 0.9}, true},
      {{5, 0.9}, {.token_usage = 0.1, .waiting_requests = 6}, true},
      {{5, 0.9}, {.token_usage = 0.95}, true},
      {{5, 0.9}, {.token_usage = 0.5, .waiting_requests = 4}, false},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(c.limits.reached_by(c.report), c.reached)
        << c.report.token_usage << " " << c.report.waiting_requests;
  }
}

class OverloadTest : public testing::Test {
 protected:
  /// A worker that is overloaded from five waiting requests on.
  Worker& add(int interval = 10) {
    WorkerFacts facts;
    facts.id = "w" + std::to_string(fleet.workers.size());
    facts.url = "http://" + facts.id;
    facts.load = {config::Seconds{interval}, {5, {}}};
    auto series = fleet.metrics.open_worker_series(facts.url);
    fleet.workers.push_back(std::make_shared<Worker>(std::move(facts), nullptr, std::move(series)));
    fleet.workers.back()->set_status(WorkerStatus::Ready);
    return *fleet.workers.back();
  }

  void report(Worker& worker, std::uint64_t waiting) {
    worker.board().publish({.waiting_requests = waiting, .valid_until = now + config::Seconds{30}});
  }

  Result<std::unique_ptr<Selection>> select(std::string_view policy = "round_robin",
                                            std::vector<Worker*> avoid = {},
                                            std::string_view target = {}) {
    const auto table = fleet.table(policy);
    RoutingRequest request;
    request.target_worker = target;
    return select_worker(table, *table.find("m"), request, serials_of(avoid), now);
  }

  TestFleet fleet;
  TimePoint now{config::Seconds{100000}};
};

TEST_F(OverloadTest, AVetoedWorkerIsOutOfEveryPolicy) {
  Worker& heavy = add();
  Worker& light = add();
  report(heavy, 5);
  report(light, 4);
  for (const char* policy : {"random", "round_robin", "passthrough", "least_load", "power_of_two",
                             "cache_aware", "consistent_hashing", "prefix_hash", "manual"}) {
    for (int i = 0; i < 12; ++i) {
      const auto selection = select(policy);
      ASSERT_TRUE(selection) << policy;
      EXPECT_EQ(&(*selection)->worker(), &light) << policy;
    }
  }
}

TEST_F(OverloadTest, WithoutAFreshReportNobodyIsVetoed) {
  Worker& worker = add();
  EXPECT_TRUE(select());
  report(worker, 50);
  EXPECT_FALSE(select());
  now += config::Seconds{30};
  EXPECT_TRUE(select());
}

TEST_F(OverloadTest, AllOverloadedIsShedUntilTheNextReport) {
  for (const int interval : {7, 3}) report(add(interval), 9);
  const auto selection = select();
  ASSERT_FALSE(selection);
  EXPECT_EQ(selection.error().code, ErrorCode::WorkersOverloaded);
  EXPECT_EQ(selection.error().status(), 503);
  EXPECT_EQ(selection.error().message, "All workers for model 'm' are overloaded");
  EXPECT_EQ(selection.error().retry_after_seconds, 3);
}

TEST_F(OverloadTest, WorkersThatAreOutForAnotherReasonDoNotCount) {
  report(add(), 9);
  fleet.workers.front()->set_status(WorkerStatus::NotReady);
  EXPECT_EQ(select().error().code, ErrorCode::NoAvailableWorkers);
  report(add(), 9);
  EXPECT_EQ(select().error().code, ErrorCode::WorkersOverloaded);
}

TEST_F(OverloadTest, ARetryGoesBackToTheFailedRatherThanToTheOverloaded) {
  Worker& failed = add();
  report(add(), 9);
  const auto selection = select("round_robin", {&failed});
  ASSERT_TRUE(selection);
  EXPECT_EQ(&(*selection)->worker(), &failed);
}

TEST_F(OverloadTest, ANamedWorkerIsVetoedToo) {
  report(add(), 9);
  add();
  EXPECT_EQ(select("consistent_hashing", {}, "w0").error().code, ErrorCode::WorkersOverloaded);
  EXPECT_TRUE(select("consistent_hashing", {}, "w1"));
}

}  // namespace
}  // namespace smg::routing
