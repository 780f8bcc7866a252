#include "control/table_builder.hpp"

#include <gtest/gtest.h>

#include <smg/observability/metrics.hpp>
#include <smg/upstream/host_pool.hpp>

namespace smg::control {
namespace {

using Models = std::vector<routing::ServedModel>;

class TableBuilderTest : public testing::Test {
 protected:
  routing::WorkerPtr worker(const std::string& url, Models models, const std::string& policy = {},
                            routing::WorkerRole role = routing::WorkerRole::Regular) {
    routing::WorkerFacts facts;
    facts.pd.role = role;
    facts.url = url;
    facts.models = std::move(models);
    if (!policy.empty()) facts.labels["policy"] = policy;
    return std::make_shared<routing::Worker>(std::move(facts), nullptr,
                                             metrics_.open_worker_series(url));
  }

  static std::vector<std::string> urls(const routing::ModelPool* pool) {
    std::vector<std::string> urls;
    if (pool == nullptr) return urls;
    for (const auto* member : pool->workers) urls.push_back(member->url());
    return urls;
  }

  observability::Metrics metrics_{{1.0}, "test"};
  const config::GatewayConfig config_ = [] {
    config::GatewayConfig config;
    config.modes.prefill_policy = "bucket";
    config.fleet.policy = "round_robin";
    return config;
  }();
  TableBuilder builder_{config_};
};

TEST_F(TableBuilderTest, KeepsTheWorkersInOrder) {
  const auto table = builder_.build(
      {worker("b", {{"m", {}}}), worker("a", {{"n", {}}}), worker("c", {{"m", {}}, {"n", {}}})});
  EXPECT_EQ(urls(table->find("m")), (std::vector<std::string>{"b", "c"}));
  EXPECT_EQ(urls(table->find("n")), (std::vector<std::string>{"a", "c"}));
  EXPECT_EQ(urls(table->find("")), (std::vector<std::string>{"b", "a", "c"}));
  EXPECT_EQ(table->model_count(), 2U);
}

TEST_F(TableBuilderTest, AnEmptyFleetHasNoPools) {
  const auto table = builder_.build({});
  EXPECT_EQ(table->find(""), nullptr);
  EXPECT_EQ(table->find("unknown"), nullptr);
  EXPECT_EQ(table->model_count(), 0U);
}

TEST_F(TableBuilderTest, AliasesLeadToCanonicalIds) {
  const auto table =
      builder_.build({worker("a", {{"m", {"nick", "n"}}}), worker("b", {{"n", {}}})});
  ASSERT_NE(table->find("nick"), nullptr);
  EXPECT_EQ(table->find("nick")->model, "m");
  EXPECT_EQ(table->find("n")->model, "n") << "a canonical id wins over an alias";
  EXPECT_EQ(builder_.build({worker("b", {{"n", {}}})})->find("nick"), nullptr);
}

TEST_F(TableBuilderTest, TheFirstWorkersLabelChoosesTheModelsPolicy) {
  const auto table =
      builder_.build({worker("a", {{"m", {}}}, "Pass_Through"), worker("b", {{"m", {}}}, "random"),
                      worker("c", {{"n", {}}}, "no such"), worker("d", {{"o", {}}})});
  EXPECT_EQ(table->find("m")->policy->name(), "passthrough");
  EXPECT_EQ(table->find("n")->policy->name(), "round_robin");
  EXPECT_EQ(table->find("o")->policy->name(), "round_robin");
  EXPECT_EQ(table->find("")->policy->name(), "round_robin");
  EXPECT_NE(table->find("")->policy, table->find("o")->policy);
  EXPECT_NE(table->find("n")->policy, table->find("o")->policy);
}

TEST_F(TableBuilderTest, RolesHavePoolsAndPoliciesOfTheirOwn) {
  using routing::WorkerRole;
  const auto table =
      builder_.build({worker("p", {{"m", {"nick"}}}, {}, WorkerRole::Prefill),
                      worker("d", {{"m", {}}}, {}, WorkerRole::Decode), worker("r", {{"n", {}}}),
                      worker("q", {{"o", {}}}, "random", WorkerRole::Prefill)});
  EXPECT_EQ(table->find("m"), nullptr);
  EXPECT_EQ(table->model_count(), 1U);
  EXPECT_EQ(table->find_pairs("n"), nullptr);
  const auto* const pairs = table->find_pairs("nick");
  ASSERT_NE(pairs, nullptr);
  EXPECT_EQ(urls(&pairs->prefill), std::vector<std::string>{"p"});
  EXPECT_EQ(urls(&pairs->decode), std::vector<std::string>{"d"});
  EXPECT_EQ(pairs->prefill.policy->name(), "bucket");
  EXPECT_EQ(pairs->decode.policy->name(), "round_robin");
  const auto* const half = table->find_pairs("o");
  ASSERT_NE(half, nullptr);
  EXPECT_FALSE(half->complete());
  EXPECT_EQ(half->prefill.policy->name(), "random");
  EXPECT_EQ(half->decode.policy->name(), "round_robin") << "though it has no workers";
  EXPECT_EQ(urls(&table->find_pairs("")->prefill), (std::vector<std::string>{"p", "q"}));
}

TEST_F(TableBuilderTest, ALabelCannotChooseAPolicyWhoseTuningIsBad) {
  auto config = config_;
  config.cache_aware.block_size = 0;
  TableBuilder builder{config};
  const auto table =
      builder.build({worker("a", {{"m", {}}}, "Cache_Aware"), worker("b", {{"n", {}}}, "random")});
  EXPECT_EQ(table->find("m")->policy->name(), "round_robin");
  EXPECT_EQ(table->find("n")->policy->name(), "random");
}

TEST_F(TableBuilderTest, APolicyLivesAsLongAsItsModelHasWorkers) {
  const auto first = worker("a", {{"m", {}}}, "random");
  const auto second = worker("b", {{"m", {}}});
  const auto policy = builder_.build({first, second})->find("m")->policy;
  EXPECT_EQ(builder_.build({second})->find("m")->policy, policy);
  EXPECT_EQ(builder_.build({})->find("m"), nullptr);
  EXPECT_NE(builder_.build({second})->find("m")->policy, policy);
}

}  // namespace
}  // namespace smg::control
