#include "control/worker_spec.hpp"

#include <gtest/gtest.h>

namespace smg::control {
namespace {

std::string spec_with(std::string_view field) {
  return R"({"url":"http://h:1",)" + std::string(field) + "}";
}

TEST(WorkerSpec, HasDefaults) {
  const auto spec = parse_worker_spec(R"({"url":"HTTP://h"})");
  ASSERT_FALSE(spec);  // the scheme is in lower case
  const auto plain = parse_worker_spec(R"({"url":"http://Host:8000/","unknown":[{}]})");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->url.text, "http://host:8000");
  EXPECT_EQ(plain->priority, 50U);
  EXPECT_EQ(plain->cost, 1.0);
  EXPECT_TRUE(plain->runtime_type.empty());
  EXPECT_FALSE(plain->health || plain->http_pool || plain->resilience);
}

TEST(WorkerSpec, ReadsEveryField) {
  const auto spec = parse_worker_spec(R"({"url":"http://h:1","worker_type":"regular",
      "connection_mode":"http","runtime":"vllm","labels":{"zone":"a"},"priority":7,"cost":2,
      "api_key":"k","models":[{"id":"m","aliases":["n"],"context_length":9}],
      "health":{"check_interval_secs":3,"drain_settle_secs":0},
      "http_pool":{"pool_idle_timeout_secs":0,"pool_max_idle_per_host":4,"timeout_secs":5,
                   "connect_timeout_secs":6,"http2":false},
      "resilience":{"max_retries":2,"cb_timeout_secs":8,"backoff_multiplier":1.5,
                    "retryable_status_codes":[500,503]},
      "overload":{"waiting_requests":1,"token_usage":1},"priority2":null})");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->runtime_type, "vllm");
  EXPECT_EQ(spec->labels.at("zone"), "a");
  EXPECT_EQ(spec->priority, 7U);
  EXPECT_EQ(spec->cost, 2.0);
  EXPECT_EQ(spec->api_key, "k");
  ASSERT_EQ(spec->models.size(), 1U);
  EXPECT_EQ(spec->models[0].aliases, std::vector<std::string>{"n"});
  EXPECT_EQ(spec->models[0].context_length, 9U);
  EXPECT_EQ(spec->health->check_interval_secs, 3U);
  EXPECT_EQ(spec->health->drain_settle_secs, 0U);
  EXPECT_FALSE(spec->health->timeout_secs);
  EXPECT_EQ(spec->http_pool->pool_idle_timeout_secs, 0U);
  EXPECT_EQ(spec->http_pool->http2, false);
  EXPECT_EQ(spec->resilience->cb_timeout_secs, 8U);
  EXPECT_EQ(spec->resilience->retryable_status_codes, (std::vector<std::uint16_t>{500, 503}));
}

TEST(WorkerSpec, ReadsWhatSharingNeeds) {
  const auto spec = parse_worker_spec(spec_with(R"("worker_type":"prefill","bootstrap_port":9001,
      "kv_connector":"NixlConnector","kv_engine_id":"e","pairing_protocol":"a/b")"));
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->role, routing::WorkerRole::Prefill);
  EXPECT_EQ(spec->bootstrap_port, 9001);
  EXPECT_EQ(spec->kv_connector, "NixlConnector");
  EXPECT_EQ(spec->kv_engine_id, "e");
  EXPECT_EQ(spec->pairing_protocol, "a/b");
  EXPECT_EQ(parse_worker_spec(spec_with(R"("worker_type":"decode")"))->role,
            routing::WorkerRole::Decode);
}

TEST(WorkerSpec, RefusesWhatItCannotBe) {
  struct Case {
    std::string body;
    int status;
  };
  const Case cases[] = {
      {"", 400},
      {"{nope", 400},
      {R"({"url":"http://h:1"} x)", 400},
      {"[]", 422},
      {"{}", 422},
      {R"({"url":5})", 422},
      {R"({"url":null})", 422},
      {R"({"url":""})", 400},
      {R"({"url":"localhost:1"})", 400},
      {R"({"url":"ftp://h:1"})", 400},
      {R"({"url":"http://"})", 400},
      {R"({"url":"http://user:pw@h:1"})", 400},
      {R"({"url":"grpc://h:1"})", 400},
      {spec_with(R"("priority":"high")"), 422},
      {spec_with(R"("priority":-1)"), 422},
      {spec_with(R"("priority":1.5)"), 422},
      {spec_with(R"("priority":4294967296)"), 422},
      {spec_with(R"("priority":true)"), 422},
      {spec_with(R"("cost":"1")"), 422},
      {spec_with(R"("cost":-1)"), 400},
      {spec_with(R"("labels":{"a":1})"), 422},
      {spec_with(R"("labels":[])"), 422},
      {spec_with(R"("api_key":"a\r\nx: y")"), 400},
      {spec_with(R"("models":[{"aliases":[]}])"), 400},
      {spec_with(R"("models":[5])"), 422},
      {spec_with(R"("worker_type":"odd")"), 422},
      {spec_with(R"("worker_type":"encode")"), 400},
      {spec_with(R"("bootstrap_port":65536)"), 422},
      {spec_with(R"("kv_connector":5)"), 422},
      {spec_with(R"("connection_mode":"grpc")"), 400},
      {spec_with(R"("runtime_type":"odd")"), 422},
      {spec_with(R"("http_pool":5)"), 422},
      {spec_with(R"("http_pool":{"http2":"yes"})"), 422},
      {spec_with(R"("load_monitor_interval_secs":0)"), 400},
      {spec_with(R"("http_pool":{"pool_idle_timeout_secs":-1})"), 422},
      {spec_with(R"("http_pool":{"pool_max_idle_per_host":1.5})"), 422},
      {spec_with(R"("http_pool":{"timeout_secs":"10"})"), 422},
      {spec_with(R"("http_pool":{"timeout_secs":true})"), 422},
      {spec_with(R"("http_pool":{"timeout_secs":0})"), 400},
      {spec_with(R"("health":{"failure_threshold":0})"), 400},
      {spec_with(R"("health":{"disable_health_check":1})"), 422},
      {spec_with(R"("resilience":{"cb_failure_threshold":0})"), 400},
      {spec_with(R"("resilience":{"retryable_status_codes":[5]})"), 422},
      {spec_with(R"("overload":{"waiting_requests":0})"), 400},
      {spec_with(R"("overload":{"token_usage":1.5})"), 400},
  };
  for (const auto& [body, status] : cases) {
    const auto spec = parse_worker_spec(body);
    ASSERT_FALSE(spec) << body;
    EXPECT_EQ(spec.error().status, status) << body << ": " << spec.error().message;
    EXPECT_FALSE(spec.error().message.empty());
    EXPECT_EQ(spec.error().message.find("pw"), std::string::npos) << body;
  }
}

TEST(WorkerSpec, NamesTheFieldThatIsWrong) {
  const auto spec = parse_worker_spec(spec_with(R"("http_pool":{"timeout_secs":"10"})"));
  ASSERT_FALSE(spec);
  EXPECT_NE(spec.error().message.find("'http_pool.timeout_secs'"), std::string::npos);
}

TEST(WorkerPatch, ChangesOnlyWhatItNames) {
  auto spec = parse_worker_spec(R"({"url":"http://h:1","priority":10,"labels":{"a":"1","b":"2"},
      "health":{"timeout_secs":4,"check_interval_secs":5}})");
  ASSERT_TRUE(spec);
  const auto patch = parse_worker_patch(R"({"url":"http://other","cost":3.0,"labels":{"b":"9"},
      "health":{"timeout_secs":7},"api_key":"new"})");
  ASSERT_TRUE(patch);
  patch->apply_to(*spec);
  EXPECT_EQ(spec->url.text, "http://h:1");
  EXPECT_EQ(spec->priority, 10U);
  EXPECT_EQ(spec->cost, 3.0);
  EXPECT_EQ(spec->labels, (std::map<std::string, std::string>{{"a", "1"}, {"b", "9"}}));
  EXPECT_EQ(spec->api_key, "new");
  EXPECT_EQ(spec->health->timeout_secs, 7U);
  EXPECT_EQ(spec->health->check_interval_secs, 5U);
}

TEST(WorkerPatch, MayBeEmptyButMustBeAnObject) {
  EXPECT_TRUE(parse_worker_patch("{}"));
  for (const char* body : {"", "[]", "{", R"({"priority":"x"})", R"({"labels":{"a":1}})"}) {
    EXPECT_FALSE(parse_worker_patch(body)) << body;
  }
}

}  // namespace
}  // namespace smg::control
