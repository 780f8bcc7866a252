#include <map>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "unit/routing/test_fleet.hpp"

namespace smg::routing {
namespace {

class WorkerTableTest : public testing::Test {
 protected:
  using Pools = std::map<std::string, ModelPool, std::less<>>;
  using Aliases = std::map<std::string, std::string, std::less<>>;

  ModelPool pool(std::string model, std::vector<Worker*> workers,
                 std::string_view policy = "round_robin") {
    return ModelPool{std::move(model), std::move(workers), make_policy(policy), nullptr};
  }

  TestFleet fleet;
};

TEST_F(WorkerTableTest, EmptyItServesNobody) {
  const WorkerTable table;
  for (const std::string_view model : {"", "m", "unknown"}) EXPECT_EQ(table.find(model), nullptr);
  EXPECT_EQ(table.model_count(), 0U);
  EXPECT_FALSE(table.policy_reads_prompt());
  EXPECT_FALSE(table.worker_mutates_body());
}

TEST_F(WorkerTableTest, FindsByIdThenByAlias) {
  Worker& a = fleet.add();
  Worker& b = fleet.add();
  Pools pools;
  pools["big"] = pool("big", {&a});
  pools["small"] = pool("small", {&b});
  pools[""] = pool("", {&a, &b});
  const WorkerTable table(fleet.workers, std::move(pools),
                          Aliases{{"gpt", "big"}, {"small", "big"}, {"lost", "nobody"}});
  const struct {
    std::string_view name;
    std::string_view found;
  } cases[] = {{"big", "big"}, {"small", "small"}, {"gpt", "big"}, {"", ""}};
  for (const auto& c : cases) {
    const ModelPool* found = table.find(c.name);
    ASSERT_NE(found, nullptr) << c.name;
    EXPECT_EQ(found->model, c.found) << c.name;
  }
  EXPECT_EQ(table.find("")->workers.size(), 2U);
  for (const std::string_view unknown : {"lost", "nobody", "BIG", "bi", "big ", "unknown"}) {
    EXPECT_EQ(table.find(unknown), nullptr) << unknown;
  }
  EXPECT_EQ(table.model_count(), 2U) << "the pool of all is no model, nor is an alias";
}

TEST_F(WorkerTableTest, APoolWithoutWorkersServesNobody) {
  Pools pools;
  pools[""] = pool("", {});
  const WorkerTable table({}, std::move(pools), {});
  EXPECT_EQ(table.find(""), nullptr);
}

TEST_F(WorkerTableTest, AnyPolicyThatReadsThePromptCounts) {
  Worker& a = fleet.add();
  for (const bool by_default : {false, true}) {
    for (const bool by_model : {false, true}) {
      Pools pools;
      pools[""] = pool("", {&a}, by_default ? "cache_aware" : "random");
      pools["m"] = pool("m", {&a}, by_model ? "cache_aware" : "random");
      const WorkerTable table(fleet.workers, std::move(pools), {});
      EXPECT_EQ(table.policy_reads_prompt(), by_default || by_model);
    }
  }
}

TEST_F(WorkerTableTest, AnyWorkerThatRewritesBodiesCounts) {
  fleet.add();
  EXPECT_FALSE(fleet.table().worker_mutates_body());
  WorkerFacts facts;
  facts.mutates_body = true;
  fleet.workers.push_back(std::make_shared<Worker>(std::move(facts), *fleet.workers.front()));
  EXPECT_TRUE(fleet.table().worker_mutates_body());
}

TEST_F(WorkerTableTest, ASuccessorOfAWorkerSharesItsState) {
  Worker& before = fleet.add();
  WorkerFacts facts = before.facts();
  facts.priority = 7;
  Worker after(std::move(facts), before);
  const LoadGuard load(before);
  before.set_status(WorkerStatus::Draining);
  EXPECT_EQ(after.load(), 1U);
  EXPECT_EQ(after.status(), WorkerStatus::Draining);
  EXPECT_EQ(&after.breaker(), &before.breaker());
  EXPECT_EQ(after.facts().priority, 7U);
}

TEST_F(WorkerTableTest, AWorkerThatRegistersAgainSharesOnlyWhatIsInFlight) {
  Worker& before = fleet.add();
  const LoadGuard early(before);
  Worker after(before.facts(), nullptr, fleet.metrics.open_worker_series("http://w0"), &before);
  EXPECT_EQ(after.load(), 1U);
  {
    const LoadGuard late(after);
    EXPECT_EQ(after.load(), 2U);
  }
  EXPECT_EQ(after.load(), 1U);
  after.set_status(WorkerStatus::Ready);
  before.set_status(WorkerStatus::Draining);
  EXPECT_EQ(after.status(), WorkerStatus::Ready);
  EXPECT_NE(&after.breaker(), &before.breaker());
  EXPECT_NE(after.serial(), before.serial());
}

TEST(WorkerStatus, NamesAreThoseOfTheApi) {
  EXPECT_EQ(name_of(WorkerStatus::Pending), "pending");
  EXPECT_EQ(name_of(WorkerStatus::Ready), "ready");
  EXPECT_EQ(name_of(WorkerStatus::NotReady), "not_ready");
  EXPECT_EQ(name_of(WorkerStatus::Failed), "failed");
  EXPECT_EQ(name_of(WorkerStatus::Draining), "draining");
}

}  // namespace
}  // namespace smg::routing
