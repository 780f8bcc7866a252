#include "control/worker_facts.hpp"

#include <gtest/gtest.h>

namespace smg::control {
namespace {

WorkerSpec spec_of(std::string_view json) {
  auto spec = parse_worker_spec(json);
  EXPECT_TRUE(spec) << spec.error().message;
  return *spec;
}

const WorkerSpec& plain_spec() {
  static const WorkerSpec spec = spec_of(R"({"url":"http://h:1"})");
  return spec;
}

std::vector<std::string> model_ids(const WorkerSpec& spec, const DiscoveredWorker& discovered) {
  std::vector<std::string> ids;
  for (const auto& card : model_cards(spec, discovered, {})) ids.push_back(card.id);
  return ids;
}

TEST(WorkerFacts, AWorkersOwnKeyBeatsTheGateways) {
  const auto keyed = spec_of(R"({"url":"http://h:1","api_key":"own"})");
  config::GatewayConfig config;
  EXPECT_EQ(worker_facts("id", keyed, {}, config).api_key, "own");
  EXPECT_EQ(worker_facts("id", plain_spec(), {}, config).api_key, "");
  config.access.api_key = "gateways";
  EXPECT_EQ(worker_facts("id", keyed, {}, config).api_key, "own");
  EXPECT_EQ(worker_facts("id", plain_spec(), {}, config).api_key, "gateways");
}

TEST(Metadata, KnownScalarsBecomeLabels) {
  MetadataReader reader;
  reader.read_info(R"({"tp_size":2,"is_generation":true,"architectures":["LlamaForCausalLM"],
      "served_model_name":"m","model_path":"","version":null,"api_key":"secret"})");
  reader.read_info(R"({"tp_size":9,"dp_size":1})");
  const auto found = reader.take();
  EXPECT_EQ(found.labels,
            (std::map<std::string, std::string>{{"architectures", R"(["LlamaForCausalLM"])"},
                                                {"dp_size", "1"},
                                                {"is_generation", "true"},
                                                {"served_model_name", "m"},
                                                {"tp_size", "2"}}));
}

TEST(Metadata, ModelsFillTheGaps) {
  MetadataReader reader;
  reader.read_info(R"({"served_model_name":"m"})");
  reader.read_models(
      R"({"data":[{"id":"x","root":"/models/x","max_model_len":4096},
      5,{"id":"y"}]})");
  const auto found = reader.take();
  EXPECT_EQ(found.labels.at("served_model_name"), "m");
  EXPECT_EQ(found.labels.at("model_path"), "/models/x");
  EXPECT_EQ(found.labels.at("max_model_len"), "4096");
  ASSERT_EQ(found.models.size(), 2U);
  EXPECT_EQ(found.models[1].id, "y");
}

TEST(Metadata, DoesNotMindNonsense) {
  MetadataReader reader;
  for (const char* body : {"", "nope", "[]", "5", R"({"data":5})", R"({"data":[{}]})", "{\"a\":"}) {
    reader.read_info(body);
    reader.read_models(body);
    reader.read_version(body);
  }
  const auto found = reader.take();
  EXPECT_TRUE(found.labels.empty() && found.models.empty());
  EXPECT_EQ(found.runtime_type, "unspecified");
}

TEST(Metadata, TellsTheRuntime) {
  struct Case {
    std::string owner;
    bool server_info;
    bool version;
    std::string_view runtime;
  };
  const Case cases[] = {
      {"vllm", false, false, "vllm"},     {"sglang", false, true, "sglang"},
      {"NVIDIA", false, false, "sglang"}, {"me", true, false, "sglang"},
      {"me", false, true, "vllm"},        {"me", false, false, "generic"},
  };
  for (const auto& [owner, server_info, version, runtime] : cases) {
    MetadataReader reader;
    reader.read_models(R"({"data":[{"id":"m","owned_by":")" + owner + R"("}]})");
    if (server_info) reader.found_server_info();
    if (version) reader.found_version();
    EXPECT_EQ(reader.take().runtime_type, runtime) << owner;
  }
}

TEST(ModelCards, APodMayRenameTheMainModel) {
  DiscoveredWorker found;
  WorkerSpec spec = plain_spec();
  spec.pod = PodFacts{"p", "u", "renamed"};
  EXPECT_EQ(model_ids(spec, found), std::vector<std::string>{"renamed"});
  EXPECT_TRUE(model_cards(spec, found, {}).front().aliases.empty()) << "unknown is no name";
  found.models = {{"base", 10}, {"adapter", 20}, {"renamed", 30}};
  config::Fleet flags;
  flags.model_aliases = {{"alias", "renamed"}};
  const auto cards = model_cards(spec, found, flags);
  ASSERT_EQ(cards.size(), 2U);
  EXPECT_EQ(cards[0].id, "renamed");
  EXPECT_EQ(cards[0].aliases, (std::vector<std::string>{"base", "alias"}));
  EXPECT_EQ(cards[1].id, "adapter");
  spec.pod->model_id = "base";
  EXPECT_TRUE(model_cards(spec, found, {}).front().aliases.empty()) << "its own name";
  spec.pod->model_id.clear();
  EXPECT_EQ(model_ids(spec, found).front(), "base");
}

TEST(WorkerFacts, LabelsNameThePod) {
  WorkerSpec spec = plain_spec();
  spec.pod = PodFacts{"p", "u", ""};
  const auto facts = worker_facts("id", spec, {}, {});
  EXPECT_EQ(facts.labels.at("smg.ai/pod-name"), "p");
  EXPECT_EQ(facts.labels.at("smg.ai/pod-uid"), "u");
}

TEST(ModelCards, TheMainModelIsNamedByTheSurestSource) {
  DiscoveredWorker found;
  EXPECT_EQ(model_ids(plain_spec(), found), std::vector<std::string>{"unknown"});
  found.labels = {{"model_path", "/p"}};
  EXPECT_EQ(model_ids(plain_spec(), found), std::vector<std::string>{"/p"});
  found.labels.emplace("model_id", "i");
  EXPECT_EQ(model_ids(plain_spec(), found), std::vector<std::string>{"i"});
  found.labels.emplace("served_model_name", "base");
  found.models = {{"base", 10}, {"adapter", 20}, {"adapter", 30}};
  EXPECT_EQ(model_ids(plain_spec(), found), (std::vector<std::string>{"base", "adapter"}));
  const auto labelled = spec_of(R"({"url":"http://h","labels":{"served_model_name":"mine"}})");
  EXPECT_EQ(model_ids(labelled, found).front(), "mine");
  const auto given = spec_of(R"({"url":"http://h","models":[{"id":"c"},{"id":"d"},{"id":"c"}]})");
  EXPECT_EQ(model_ids(given, found), (std::vector<std::string>{"c", "d"}));
}

TEST(ModelCards, AreCompletedFromLabels) {
  DiscoveredWorker found;
  found.labels = {{"served_model_name", "m"},    {"max_model_len", "4096"},
                  {"model_type", "llama"},       {"tokenizer_path", "t"},
                  {"architectures", R"(["A"])"}, {"max_seq_len", "1"}};
  found.models = {{"m", 4096}, {"lora", 2048}};
  const auto spec = spec_of(R"({"url":"http://h","labels":{"max_model_len":"123"}})");
  config::Fleet flags;
  flags.model_aliases = {{"nick", "m"}, {"other", "gone"}};
  const auto cards = model_cards(spec, found, flags);
  ASSERT_EQ(cards.size(), 2U);
  EXPECT_EQ(cards[0].context_length, 123U);
  EXPECT_EQ(cards[1].context_length, 2048U);
  EXPECT_EQ(cards[0].hf_model_type, "llama");
  EXPECT_EQ(cards[0].tokenizer_path, "t");
  EXPECT_EQ(cards[0].architectures, std::vector<std::string>{"A"});
  EXPECT_EQ(cards[0].aliases, std::vector<std::string>{"nick"});
  EXPECT_TRUE(cards[1].aliases.empty());
}

TEST(ModelCards, KnowTheKindOfModel) {
  using Labels = std::map<std::string, std::string>;
  using Types = std::vector<std::string>;
  const std::pair<Labels, Types> cases[] = {
      {{}, {"chat", "completions", "responses", "tools"}},
      {{{"has_image_understanding", "true"}},
       {"chat", "completions", "responses", "tools", "vision"}},
      {{{"is_embedding", "true"}}, {"embeddings"}},
      {{{"is_generation", "false"}}, {"embeddings"}},
      {{{"is_generation", "false"}, {"architectures", R"(["BertForSequenceClassification"])"}},
       {"rerank"}},
  };
  for (const auto& [labels, types] : cases) {
    DiscoveredWorker found;
    found.labels = labels;
    EXPECT_EQ(model_cards(plain_spec(), found, {}).front().model_type, types);
  }
}

TEST(WorkerFacts, FollowTheFlagsUnlessTheSpecSaysOtherwise) {
  config::GatewayConfig config;
  config.limits.request_timeout = config::Seconds(77);
  config.health.interval = config::Seconds(33);
  config.circuit_breaker.failure_threshold = 4;
  const auto plain = worker_facts("id", plain_spec(), {}, config);
  EXPECT_EQ(plain.url, "http://h:1");
  EXPECT_EQ(plain.request_timeout, config::Seconds(77));
  EXPECT_EQ(plain.health.interval, config::Seconds(33));
  EXPECT_EQ(plain.drain_settle, config::Seconds(5));
  EXPECT_EQ(plain.circuit_breaker.failure_threshold, 4U);
  EXPECT_FALSE(plain.breaker_statuses.failures);
  EXPECT_FALSE(plain.breaker_statuses.capacity);
  const auto spec = spec_of(R"({"url":"http://h:1","http_pool":{"timeout_secs":1},
      "health":{"check_interval_secs":2,"failure_threshold":9,"disable_health_check":true,
                "drain_settle_secs":0},
      "resilience":{"cb_failure_threshold":1,"cb_timeout_secs":6,"disable_circuit_breaker":true,
                    "retryable_status_codes":[418,100,999],"capacity_status_codes":[]}})");
  const auto own = worker_facts("id", spec, {}, config);
  EXPECT_EQ(own.request_timeout, config::Seconds(1));
  EXPECT_EQ(own.health.interval, config::Seconds(2));
  EXPECT_EQ(own.health.failure_threshold, 9U);
  EXPECT_EQ(own.health.success_threshold, config.health.success_threshold);
  EXPECT_TRUE(own.health.disabled);
  EXPECT_EQ(own.drain_settle, config::Seconds(0));
  EXPECT_EQ(own.circuit_breaker.failure_threshold, 1U);
  EXPECT_EQ(own.circuit_breaker.timeout, config::Seconds(6));
  EXPECT_TRUE(own.circuit_breaker.disabled);
  for (const int status : {418, 100, 999}) {
    EXPECT_TRUE(own.breaker_statuses.failures->contains(status)) << status;
  }
  EXPECT_FALSE(own.breaker_statuses.failures->contains(503));
  EXPECT_FALSE(own.breaker_statuses.capacity->contains(429));
}

TEST(PoolSettings, FollowTheFlagsUnlessTheSpecSaysOtherwise) {
  config::Upstream flags;
  flags.pool_idle_timeout = config::Seconds(11);
  EXPECT_EQ(pool_settings(plain_spec(), flags).idle_timeout, config::Seconds(11));
  const auto spec = spec_of(R"({"url":"http://h:1","http_pool":{"pool_idle_timeout_secs":0,
      "pool_max_idle_per_host":0,"connect_timeout_secs":2}})");
  const auto own = pool_settings(spec, flags);
  EXPECT_EQ(own, (upstream::PoolSettings{config::Seconds(0), 0, config::Seconds(2)}));
}

TEST(Origin, IsTheAuthorityOfTheUrl) {
  const auto origin = origin_of(spec_of(R"({"url":"http://[::1]:8000"})").url);
  EXPECT_EQ(origin, (upstream::Origin{"::1", 8000, "[::1]:8000"}));
  EXPECT_EQ(origin_of(spec_of(R"({"url":"http://h:80"})").url), (upstream::Origin{"h", 80, "h"}));
}

}  // namespace
}  // namespace smg::control
