#include "control/worker_facts.hpp"
#include "unit/control/registry_fixture.hpp"

namespace smg::control {
namespace {

TEST(RankCount, IsWhatTheEngineReportsUnderTheFlag) {
  const struct {
    std::string dp_size;
    bool dp_aware;
    std::uint32_t ranks;
  } cases[] = {{"4", true, 4},    {"4", false, 1},         {"1", true, 1},   {"0", true, 1},
               {"", true, 1},     {"-2", true, 1},         {"two", true, 1}, {"1024", true, 1024},
               {"1025", true, 1}, {"99999999999", true, 1}};
  for (const auto& c : cases) {
    DiscoveredWorker discovered;
    discovered.labels["dp_size"] = c.dp_size;
    config::Fleet flags;
    flags.dp_aware = c.dp_aware;
    EXPECT_EQ(rank_count(discovered, flags), c.ranks) << c.dp_size;
  }
}

TEST(BecomeRank, KeepsTheEngineAndChangesTheWorker) {
  routing::WorkerFacts facts;
  facts.url = "http://h:1";
  facts.api_key = "key";
  become_rank(facts, "id", 2, 4);
  EXPECT_EQ(facts.id, "id");
  EXPECT_EQ(facts.url, "http://h:1@2");
  EXPECT_EQ(facts.api_key, "key");
  EXPECT_TRUE(facts.mutates_body);
  ASSERT_TRUE(facts.rank);
  EXPECT_EQ(facts.rank->base_url, "http://h:1");
  EXPECT_EQ(facts.rank->rank, 2U);
  EXPECT_EQ(facts.rank->size, 4U);
}

TEST(LoadFacts, OwnLimitsBeatTheFlagsFieldByField) {
  const struct {
    const char* more;
    config::WorkerOverload flags;
    std::optional<std::uint64_t> waiting;
    std::optional<double> usage;
    int interval;
  } cases[] = {
      {"", {}, {}, {}, 10},
      {"", {true, {}, {}}, {}, 0.9, 10},
      {"", {true, 3, 0.5}, 3, 0.5, 10},
      {"", {false, 3, {}}, 3, {}, 10},
      {R"(,"overload":{"token_usage":0.4})", {true, 3, {}}, 3, 0.4, 10},
      {R"(,"overload":{"waiting_requests":8},"load_monitor_interval_secs":2)", {}, 8, {}, 2},
  };
  for (const auto& c : cases) {
    config::GatewayConfig config;
    config.worker_overload = c.flags;
    const auto spec = parse_worker_spec(std::string(R"({"url":"http://h")") + c.more + "}");
    ASSERT_TRUE(spec) << c.more;
    const auto load = worker_facts("id", *spec, {}, config).load;
    EXPECT_EQ(load.overload.waiting_requests, c.waiting) << c.more;
    EXPECT_EQ(load.overload.token_usage, c.usage) << c.more;
    EXPECT_EQ(load.interval.count(), c.interval) << c.more;
  }
}

/// A registry in front of an engine of two ranks.
class WorkerRanksTest : public WorkerRegistryTest {
 protected:
  WorkerRanksTest() {
    config_.fleet.dp_aware = true;
    worker_.answer("/server_info", 200, R"({"dp_size":2})");
  }
};

TEST_F(WorkerRanksTest, EachRankIsAWorker) {
  start();
  const std::string page = add();
  until("/workers", R"("total":2)");
  const auto workers = registry_->workers();
  ASSERT_EQ(workers.size(), 2U);
  EXPECT_EQ(workers[0]->url(), worker_.url() + "@0");
  EXPECT_EQ(workers[1]->url(), worker_.url() + "@1");
  EXPECT_EQ(workers[0]->shared_pool(), workers[1]->shared_pool());
  EXPECT_EQ("/workers/" + workers[0]->facts().id, page) << "the id that was promised";
  for (const auto& worker : workers) {
    const std::string text = get("/workers/" + worker->facts().id).body;
    EXPECT_NE(text.find(R"("url":")" + worker->url() + R"(")"), std::string::npos) << text;
    EXPECT_NE(text.find(R"("dp_base_url":")" + worker_.url() + R"(","dp_rank":)" +
                        std::to_string(worker->facts().rank->rank) + R"(,"dp_size":2)"),
              std::string::npos)
        << text;
  }
  EXPECT_TRUE(table_of(1, 2)->worker_mutates_body());
  EXPECT_EQ(pool_size("base"), "2");
}

TEST_F(WorkerRanksTest, ARankCannotBeReplacedAndIsChangedWithItsGroup) {
  start();
  add();
  until("/workers", R"("total":2)");
  const auto second = registry_->workers()[1];
  const std::string page = "/workers/" + second->facts().id;
  const auto put = call(http::Method::Put, page, R"({"url":")" + second->url() + R"("})");
  EXPECT_EQ(put.status, 400) << put.body;
  const auto again = call(http::Method::Put, page, R"({"url":")" + worker_.url() + R"("})");
  EXPECT_EQ(again.status, 400);
  EXPECT_NE(again.body.find("data-parallel group"), std::string::npos) << again.body;
  EXPECT_EQ(call(http::Method::Patch, page, R"({"api_key":"new"})").status, 202);
  for (const auto& worker : registry_->workers()) {
    EXPECT_EQ(worker->facts().api_key, "new");
    EXPECT_TRUE(worker->facts().rank);
  }
  EXPECT_EQ(registry_->workers()[1]->facts().id, second->facts().id);
}

TEST_F(WorkerRanksTest, OneRankTakesTheGroupWithIt) {
  start();
  add();
  until("/workers", R"("total":2)");
  const std::string second = "/workers/" + registry_->workers()[1]->facts().id;
  EXPECT_EQ(call(http::Method::Delete, second).status, 202);
  until("/workers", R"("total":0)");
  EXPECT_EQ(table_of(0, 0)->workers().size(), 0U);
  EXPECT_EQ(get(second).status, 404);
}

TEST_F(WorkerRanksTest, AnEngineIsFlushedOnce) {
  start();
  add();
  until("/workers", R"("total":2)");
  EXPECT_NE(call(http::Method::Post, "/flush_cache").body.find(R"("workers_flushed":1)"),
            std::string::npos);
}

TEST_F(WorkerRanksTest, EachRankHasItsOwnRowOfTheReport) {
  worker_.answer("/v1/loads?include=core,disagg,queues,memory", 200,
                 R"({"loads":[{"dp_rank":0,"num_waiting_reqs":2,"token_usage":0.25},
                              {"dp_rank":1,"num_waiting_reqs":5,"token_usage":0.75}]})");
  start();
  add();
  const auto loads = until("/get_loads", R"("dp_rank_count":2)").body;
  EXPECT_NE(
      loads.find(R"("worker":")" + worker_.url() + R"(@1","worker_type":"regular","dp_rank":1)"),
      std::string::npos)
      << loads;
  EXPECT_NE(loads.find(R"("total_waiting_reqs":7,"total_reqs":7,"avg_token_usage":0.5)"),
            std::string::npos)
      << loads;
  const auto workers = registry_->workers();
  const auto now = std::chrono::steady_clock::now();
  EXPECT_EQ(workers[0]->board().report(now)->waiting_requests, 2U);
  EXPECT_EQ(workers[1]->board().report(now)->waiting_requests, 5U);
  EXPECT_FALSE(workers[1]->board().report(now + std::chrono::seconds(30))) << "three intervals";
  EXPECT_NE(get("/workers/" + workers[1]->facts().id)
                .body.find(R"("dp_rank_count":1,"loads":[{"dp_rank":1,)"),
            std::string::npos);
}

}  // namespace
}  // namespace smg::control
