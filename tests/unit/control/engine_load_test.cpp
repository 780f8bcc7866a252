#include "control/engine_load.hpp"

#include <gtest/gtest.h>

#include <smg/observability/metrics.hpp>

namespace smg::control {
namespace {

constexpr std::string_view kTwoRanks =
    R"({"timestamp":"t","version":"v","dp_rank_count":2,"loads":[
        {"dp_rank":0,"num_running_reqs":3,"num_waiting_reqs":2,"num_waiting_uncached_tokens":7,
         "num_total_reqs":5,"num_used_tokens":100,"max_total_num_tokens":1000,"token_usage":0.1,
         "gen_throughput":50.0,"cache_hit_rate":0.5,"utilization":0.2,"max_running_requests":33},
        {"dp_rank":1,"num_running_reqs":1,"num_waiting_reqs":4,"token_usage":0.5,
         "gen_throughput":10,"unknown":{}}]})";

routing::WorkerPtr worker_of(std::optional<routing::DataParallelRank> rank) {
  static observability::Metrics metrics({1.0}, "test");
  routing::WorkerFacts facts;
  facts.url = "http://h";
  facts.rank = std::move(rank);
  return std::make_shared<routing::Worker>(std::move(facts), nullptr,
                                           metrics.open_worker_series("http://h"));
}

TEST(EngineLoad, ReadsEveryRank) {
  const auto load = parse_engine_load(kTwoRanks);
  ASSERT_TRUE(load);
  JsonWriter json;
  json.begin_object();
  write_engine_load(json, *load);
  json.end_object();
  EXPECT_EQ(json.take(),
            R"({"engine_load":{"timestamp":"t","version":"v","dp_rank_count":2,"loads":[)"
            R"({"dp_rank":0,"num_running_reqs":3,"num_waiting_reqs":2,)"
            R"("num_waiting_uncached_tokens":7,"num_total_reqs":5,"num_used_tokens":100,)"
            R"("max_total_num_tokens":1000,"token_usage":0.1,"gen_throughput":50.0,)"
            R"("cache_hit_rate":0.5,"utilization":0.2,"max_running_requests":33},)"
            R"({"dp_rank":1,"num_running_reqs":1,"num_waiting_reqs":4,)"
            R"("num_waiting_uncached_tokens":0,"num_total_reqs":5,"num_used_tokens":0,)"
            R"("max_total_num_tokens":0,"token_usage":0.5,"gen_throughput":10.0,)"
            R"("cache_hit_rate":0.0,"utilization":0.0,"max_running_requests":0}]}})");
}

TEST(EngineLoad, IsAveragedOrAddedUpForRouting) {
  const auto report = report_of(*parse_engine_load(kTwoRanks));
  EXPECT_DOUBLE_EQ(report.token_usage, 0.3);
  EXPECT_EQ(report.waiting_requests, 6U);
  EXPECT_EQ(report.waiting_uncached_tokens, 7U);
  EXPECT_DOUBLE_EQ(report.throughput, 60.0);
}

TEST(EngineLoad, OtherSchemasAreNone) {
  for (const char* text :
       {"", "[]", "{", "5", R"({"load":3})", R"({"loads":{}})", R"({"loads":[5]})"}) {
    EXPECT_FALSE(parse_engine_load(text)) << text;
  }
  const auto empty = parse_engine_load(R"({"loads":[]})");
  ASSERT_TRUE(empty) << "the schema, but nothing to tell yet";
  EXPECT_TRUE(empty->ranks.empty());
}

TEST(EngineLoad, ImpossibleNumbersCountAsZero) {
  const auto load = parse_engine_load(
      R"({"timestamp":5,"loads":[{"num_running_reqs":-3,"num_waiting_reqs":"many",
          "token_usage":-0.5,"gen_throughput":null,"num_used_tokens":2.9,
          "max_total_num_tokens":1e300,"dp_rank":-1}]})");
  ASSERT_TRUE(load);
  const RankLoad& rank = load->ranks.front();
  EXPECT_EQ(load->timestamp, "");
  EXPECT_EQ(rank.dp_rank, 0U);
  EXPECT_EQ(rank.num_running_reqs, 0U);
  EXPECT_EQ(rank.num_waiting_reqs, 0U);
  EXPECT_EQ(rank.token_usage, 0.0);
  EXPECT_EQ(rank.gen_throughput, 0.0);
  EXPECT_EQ(rank.num_used_tokens, 2U);
  EXPECT_EQ(rank.max_total_num_tokens, 1000000000000000U);
}

TEST(EngineLoad, ARankTakesItsOwnRow) {
  const auto load = *parse_engine_load(kTwoRanks);
  const struct {
    std::optional<routing::DataParallelRank> rank;
    std::size_t rows;
    std::uint64_t waiting;
  } cases[] = {{std::nullopt, 2, 6},
               {{{"http://h", 0, 2}}, 1, 2},
               {{{"http://h", 1, 2}}, 1, 4},
               {{{"http://h", 2, 3}}, 0, 0}};
  for (const auto& c : cases) {
    const auto share = share_of(load, *worker_of(c.rank));
    EXPECT_EQ(share.ranks.size(), c.rows);
    EXPECT_EQ(report_of(share).waiting_requests, c.waiting);
  }
  const auto whole = *parse_engine_load(R"({"loads":[{"dp_rank":0,"num_waiting_reqs":9}]})");
  EXPECT_EQ(report_of(share_of(whole, *worker_of({{"http://h", 1, 2}}))).waiting_requests, 9U)
      << "an engine with one row speaks for all ranks";
}

TEST(EngineLoad, TotalsAddUpAndAverage) {
  LoadTotals totals;
  const auto load = *parse_engine_load(kTwoRanks);
  for (const auto& rank : load.ranks) totals.add(rank);
  JsonWriter json;
  json.begin_object();
  totals.write(json);
  json.end_object();
  EXPECT_EQ(totals.rows(), 2U);
  EXPECT_EQ(json.take(), R"({"aggregate":{"total_running_reqs":4,"total_waiting_reqs":6,)"
                         R"("total_reqs":10,"avg_token_usage":0.3,"avg_throughput":30.0,)"
                         R"("avg_utilization":0.1}})");
}

TEST(EngineScrape, ReadsVllm) {
  const auto load =
      parse_engine_metrics("vllm",
                           "# HELP vllm:num_requests_running Number\n"
                           "vllm:num_requests_running{engine=\"0\",model_name=\"m\"} 3.0\r\n"
                           "vllm:num_requests_waiting{engine=\"0\",model_name=\"m\"} 2.0\n"
                           "vllm:kv_cache_usage_perc{engine=\"0\",model_name=\"m\"} 0.25\n"
                           "vllm:num_requests_waiting{engine=\"1\",model_name=\"m\"} 7\n"
                           "vllm:num_requests_waiting_by_reason{engine=\"1\"} 70\n"
                           "vllm:kv_cache_usage_perc{engine=\"1\",model_name=\"m\"} NaN\n");
  ASSERT_TRUE(load);
  ASSERT_EQ(load->ranks.size(), 2U);
  EXPECT_EQ(load->ranks[0].num_running_reqs, 3U);
  EXPECT_EQ(load->ranks[0].num_waiting_reqs, 2U);
  EXPECT_EQ(load->ranks[0].num_total_reqs, 5U);
  EXPECT_DOUBLE_EQ(load->ranks[0].token_usage, 0.25);
  EXPECT_EQ(load->ranks[1].dp_rank, 1U);
  EXPECT_EQ(load->ranks[1].num_waiting_reqs, 7U);
}

TEST(EngineScrape, ReadsSglangInBothSpellings) {
  for (const std::string prefix : {"sglang:", "sglang_"}) {
    const auto load = parse_engine_metrics(
        "sglang", prefix + "token_usage 0.5\n" + prefix + "num_running_reqs{tp_rank=\"0\"} 4\n" +
                      prefix + "num_queue_reqs 6 1700000000\n" + prefix + "gen_throughput 9.5\n" +
                      prefix + "cache_hit_rate 0.75\n" + prefix + "utilization 0.2\n");
    ASSERT_TRUE(load) << prefix;
    ASSERT_EQ(load->ranks.size(), 1U);
    const RankLoad& rank = load->ranks.front();
    EXPECT_DOUBLE_EQ(rank.token_usage, 0.5);
    EXPECT_EQ(rank.num_running_reqs, 4U);
    EXPECT_EQ(rank.num_waiting_reqs, 6U);
    EXPECT_DOUBLE_EQ(rank.gen_throughput, 9.5);
    EXPECT_DOUBLE_EQ(rank.cache_hit_rate, 0.75);
    EXPECT_DOUBLE_EQ(rank.utilization, 0.2);
  }
}

TEST(EngineScrape, WithoutTheEssentialGaugesThereIsNoLoad) {
  const struct {
    std::string_view runtime;
    std::string_view text;
  } cases[] = {{"vllm", ""},
               {"vllm", "vllm:num_requests_running 3\n"},
               {"vllm", "sglang:token_usage 0.5\n"},
               {"sglang", "sglang:gen_throughput 3\n"},
               {"sglang", "sglangtoken_usage 3\n"},
               {"generic", "vllm:kv_cache_usage_perc 0.5\n"}};
  for (const auto& c : cases) EXPECT_FALSE(parse_engine_metrics(c.runtime, c.text)) << c.text;
}

}  // namespace
}  // namespace smg::control
