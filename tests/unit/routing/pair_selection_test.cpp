#include <gtest/gtest.h>

#include "unit/routing/test_fleet.hpp"
#include <smg/routing/pair_selection.hpp>

namespace smg::routing {
namespace {

class PairSelectionTest : public testing::Test {
 protected:
  Worker& add(WorkerRole role, std::string_view protocol = {}) {
    WorkerFacts facts;
    facts.url = "http://w" + std::to_string(workers_.size());
    facts.pd.role = role;
    facts.pd.pairing = PairingKey(protocol);
    auto series = metrics_.open_worker_series(facts.url);
    workers_.push_back(std::make_shared<Worker>(std::move(facts), nullptr, std::move(series)));
    workers_.back()->set_status(WorkerStatus::Ready);
    auto& pool = role == WorkerRole::Regular   ? regular_
                 : role == WorkerRole::Prefill ? pairs_.prefill
                                               : pairs_.decode;
    pool.workers.push_back(workers_.back().get());
    return *workers_.back();
  }

  Result<WorkerPair> select(std::vector<Worker*> avoid = {}) {
    const WorkerTable table(workers_, {}, {}, {});
    return select_pair(table, pairs_, RoutingRequest{}, serials_of(avoid), TimePoint{});
  }

  observability::Metrics metrics_{{1.0}, "test"};
  std::vector<WorkerPtr> workers_;
  ModelPool regular_{"m", {}, make_policy("round_robin"), nullptr};
  PairPools pairs_{{"m", {}, make_policy("round_robin"), nullptr},
                   {"m", {}, make_policy("round_robin"), nullptr}};
};

TEST_F(PairSelectionTest, TakesOneOfEitherRole) {
  Worker& prefill = add(WorkerRole::Prefill);
  Worker& decode = add(WorkerRole::Decode);
  const auto pair = select();
  ASSERT_TRUE(pair);
  EXPECT_EQ(&pair->prefill->worker(), &prefill);
  EXPECT_EQ(&pair->decode->worker(), &decode);
  EXPECT_EQ(prefill.load(), 1U);
  EXPECT_EQ(decode.load(), 1U);
}

TEST_F(PairSelectionTest, TakesOnlyThoseThatAgree) {
  add(WorkerRole::Prefill, "vllm/mooncake");
  Worker& prefill = add(WorkerRole::Prefill, "vllm/nixl");
  add(WorkerRole::Decode, "sglang");
  Worker& decode = add(WorkerRole::Decode, "vllm/nixl");
  for (int i = 0; i < 4; ++i) {
    const auto pair = select();
    ASSERT_TRUE(pair);
    EXPECT_EQ(&pair->prefill->worker(), &prefill);
    EXPECT_EQ(&pair->decode->worker(), &decode);
  }
}

TEST_F(PairSelectionTest, AvoidsThoseThatFailedWhileThereAreOthers) {
  Worker& first = add(WorkerRole::Prefill);
  Worker& second = add(WorkerRole::Prefill);
  Worker& decode = add(WorkerRole::Decode);
  for (int i = 0; i < 4; ++i) {
    const auto pair = select({&first, &decode});
    ASSERT_TRUE(pair);
    EXPECT_EQ(&pair->prefill->worker(), &second);
    EXPECT_EQ(&pair->decode->worker(), &decode) << "the only one";
  }
}

TEST_F(PairSelectionTest, SaysWhichRoleIsMissing) {
  const auto message = [&] {
    const auto pair = select();
    EXPECT_EQ(pair.error().code, ErrorCode::NoAvailableWorkers);
    EXPECT_GE(pair.error().retry_after_seconds, 1);
    return pair.error().message;
  };
  EXPECT_NE(message().find("No prefill workers available"), std::string::npos);
  Worker& prefill = add(WorkerRole::Prefill, "vllm/nixl");
  EXPECT_NE(message().find("No decode workers available"), std::string::npos);
  Worker& decode = add(WorkerRole::Decode, "vllm/mooncake");
  EXPECT_NE(message().find("paired"), std::string::npos);
  decode.set_status(WorkerStatus::NotReady);
  EXPECT_NE(message().find("No available decode workers"), std::string::npos);
  prefill.set_status(WorkerStatus::NotReady);
  EXPECT_NE(message().find("No available prefill workers"), std::string::npos);
  EXPECT_EQ(select().error().retry_after_seconds, 60) << "the next health check";
}

/// Ruling 17.
TEST_F(PairSelectionTest, WaitsForTheRoleThatHasNobodyAlone) {
  add(WorkerRole::Prefill);
  Worker& decode = add(WorkerRole::Decode);
  decode.set_status(WorkerStatus::NotReady);
  EXPECT_EQ(select().error().retry_after_seconds, 60) << "prefill is there already";
  decode.set_status(WorkerStatus::Ready);
  EXPECT_TRUE(select());
}

TEST_F(PairSelectionTest, LeavesNoPermitBehindWhenTheOtherRoleHasNobody) {
  Worker& prefill = add(WorkerRole::Prefill);
  add(WorkerRole::Decode).set_status(WorkerStatus::NotReady);
  EXPECT_FALSE(select());
  EXPECT_EQ(prefill.load(), 0U);
}

TEST_F(PairSelectionTest, DrawsBetweenWholeWorkersAndPairsByTheirNumber) {
  const struct {
    int regular;
    int prefill;
    int decode;
    double draw;
    bool pair;
  } cases[] = {
      {0, 1, 1, 0.99, true}, {1, 0, 0, 0.0, false}, {1, 2, 0, 0.0, false}, {0, 2, 0, 0.0, false},
      {2, 1, 1, 0.49, true}, {2, 1, 1, 0.5, false}, {1, 2, 1, 0.74, true}, {1, 2, 1, 0.76, false},
  };
  for (const auto& c : cases) {
    regular_.workers.clear();
    pairs_.prefill.workers.clear();
    pairs_.decode.workers.clear();
    for (int i = 0; i < c.regular; ++i) add(WorkerRole::Regular);
    for (int i = 0; i < c.prefill; ++i) add(WorkerRole::Prefill);
    for (int i = 0; i < c.decode; ++i) add(WorkerRole::Decode);
    EXPECT_EQ(draws_pair(&regular_, &pairs_, c.draw), c.pair)
        << c.regular << c.prefill << c.decode << " " << c.draw;
  }
  EXPECT_FALSE(draws_pair(&regular_, nullptr, 0.0));
}

TEST_F(PairSelectionTest, HealthyWorkersCountFirst) {
  Worker& whole = add(WorkerRole::Regular);
  add(WorkerRole::Prefill).set_status(WorkerStatus::NotReady);
  Worker& decode = add(WorkerRole::Decode);
  EXPECT_FALSE(draws_pair(&regular_, &pairs_, 0.0)) << "half a pair serves nobody";
  whole.set_status(WorkerStatus::NotReady);
  decode.set_status(WorkerStatus::NotReady);
  EXPECT_TRUE(draws_pair(&regular_, &pairs_, 0.6)) << "two of three";
  EXPECT_FALSE(draws_pair(&regular_, &pairs_, 0.7));
}

}  // namespace
}  // namespace smg::routing
