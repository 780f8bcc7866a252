#include <algorithm>

#include "unit/control/registry_fixture.hpp"

namespace smg::control {
namespace {

class LoadPollsTest : public WorkerRegistryTest {
 protected:
  /// The targets of the load polls so far.
  [[nodiscard]] std::vector<std::string> polls() const {
    std::vector<std::string> targets;
    for (const auto& head : worker_.seen()) {
      const auto target = head.substr(4, head.find(' ', 4) - 4);
      if (target.find("load") != std::string::npos || target == "/metrics") {
        targets.push_back(target);
      }
    }
    return targets;
  }
};

TEST_F(LoadPollsTest, AskInTheirOrderUntilOneAnswers) {
  worker_.answer("/metrics", 200, "sglang:token_usage 0.5\nsglang:num_queue_reqs 3\n");
  start();
  add(R"(,"runtime_type":"sglang","api_key":"own")");
  const auto loads = until("/get_loads", R"("dp_rank_count":1)").body;
  EXPECT_NE(loads.find(R"("num_waiting_reqs":3)"), std::string::npos) << loads;
  EXPECT_EQ(polls(),
            (std::vector<std::string>{"/loads?model=base",
                                      "/v1/loads?include=core,disagg,queues,memory", "/metrics"}));
  EXPECT_NE(get("/workers").body.find(R"("engine_load":{)"), std::string::npos);
}

TEST_F(LoadPollsTest, WhatTheEngineLacksIsNotAskedForAgain) {
  config_.load_monitor.interval = config::Seconds(1);
  worker_.answer("/v1/loads?include=core,disagg,queues,memory", 200,
                 R"({"loads":[{"num_waiting_reqs":2}]})");
  start();
  add();
  while (polls().size() < 3) std::this_thread::yield();
  auto targets = polls();
  EXPECT_EQ(targets.front(), "/loads?model=base");
  EXPECT_EQ(std::ranges::count(targets, targets.front()), 1);
}

TEST_F(LoadPollsTest, AreLeftOutWhereNobodyNeedsThem) {
  config_.load_monitor.disabled = true;
  start();
  const std::string page = add();
  until(page, R"("status":"ready")");
  EXPECT_EQ(get("/get_server_info").status, 200);
  stop();
  EXPECT_EQ(polls(), std::vector<std::string>());
}

TEST_F(LoadPollsTest, APolicyOrALimitNeedsThem) {
  config_.load_monitor.disabled = true;
  worker_.answer("/loads?model=base", 200, R"({"loads":[{"num_waiting_reqs":2}]})");
  start();
  for (const char* more :
       {R"(,"labels":{"policy":"least_load"})", R"(,"overload":{"waiting_requests":9})"}) {
    const std::string page = add(more);
    until(page, R"("engine_load":)");
    EXPECT_EQ(call(http::Method::Delete, page).status, 202);
    until(page, "WORKER_NOT_FOUND");
  }
}

TEST_F(LoadPollsTest, OverloadedWorkersAreCounted) {
  config_.load_monitor.interval = config::Seconds(1);
  config_.worker_overload.waiting_requests = 3;
  worker_.answer("/loads?model=base", 200, R"({"loads":[{"num_waiting_reqs":3}]})");
  start();
  const auto shows = [this](int count) {
    const std::string sample =
        "\nsmg_workers_overloaded{model=\"base\"} " + std::to_string(count) + "\n";
    return metrics_.exposition().find(sample) != std::string::npos;
  };
  const std::string page = add();
  while (!shows(1)) std::this_thread::yield();
  worker_.answer("/loads?model=base", 200, R"({"loads":[{"num_waiting_reqs":2}]})");
  while (!shows(0)) std::this_thread::yield();
  worker_.answer("/loads?model=base", 200, R"({"loads":[{"num_waiting_reqs":4}]})");
  while (!shows(1)) std::this_thread::yield();
  EXPECT_EQ(call(http::Method::Delete, page).status, 202);
  while (!shows(0)) std::this_thread::yield();
}

TEST_F(LoadPollsTest, WithoutALimitNobodyIsCountedAsOverloaded) {
  worker_.answer("/loads?model=base", 200, R"({"loads":[{"num_waiting_reqs":3}]})");
  start();
  until(add(), R"("engine_load":)");
  EXPECT_EQ(metrics_.exposition().find("smg_workers_overloaded{"), std::string::npos);
}

}  // namespace
}  // namespace smg::control
