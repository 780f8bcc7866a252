#include "control/worker_json.hpp"

#include <gtest/gtest.h>

#include <smg/observability/metrics.hpp>

namespace smg::control {
namespace {

std::string text_of(const WorkerEntry& entry) {
  JsonWriter json;
  write_worker(json, entry, entry.registered() ? entry.workers.front().get() : nullptr, {});
  return json.take();
}

WorkerEntry entry_of(std::string_view spec) {
  WorkerEntry entry;
  entry.id = "01a22aa0-4b32-70d1-8cec-c303fb238eb0";
  entry.spec = *parse_worker_spec(spec);
  return entry;
}

TEST(WorkerJson, APendingWorkerHasNoModels) {
  auto entry = entry_of(R"({"url":"http://h:1"})");
  entry.job = Job{JobType::AddWorker, JobState::Processing, "", 1796011698, {}};
  EXPECT_EQ(text_of(entry),
            R"({"id":"01a22aa0-4b32-70d1-8cec-c303fb238eb0","url":"http://h:1",)"
            R"("worker_type":"regular","connection_mode":"http","runtime_type":"unspecified",)"
            R"("priority":50,"cost":1.0,"max_connection_attempts":20,"is_healthy":false,)"
            R"("status":"pending","load":0,"http2":false,"job_status":{"job_type":"AddWorker",)"
            R"("worker_url":"http://h:1","status":"processing","message":null,)"
            R"("timestamp":1796011698}})");
}

TEST(WorkerJson, AWorkerThatSharesRequestsSaysHow) {
  observability::Metrics metrics({1.0}, "test");
  auto entry = entry_of(R"({"url":"http://h:1","worker_type":"prefill","bootstrap_port":9001,
      "runtime_type":"vllm","kv_connector":"NixlConnector","kv_engine_id":"e"})");
  entry.workers.push_back(
      std::make_shared<routing::Worker>(worker_facts(entry.id, entry.spec, entry.discovered, {}),
                                        nullptr, metrics.open_worker_series("http://h:1")));
  EXPECT_NE(text_of(entry).find(R"("worker_type":"prefill","bootstrap_port":9001,)"
                                R"("kv_connector":"NixlConnector","kv_engine_id":"e",)"
                                R"("pd_pairing":"vllm/nixl/?","connection_mode":"http")"),
            std::string::npos)
      << text_of(entry);
}

TEST(WorkerJson, AFailedRegistrationSaysWhy) {
  auto entry = entry_of(R"({"url":"http://h:1"})");
  entry.job = Job{JobType::AddWorker, JobState::Failed, "no \"luck\"", 5, {}};
  const std::string text = text_of(entry);
  EXPECT_NE(text.find(R"("is_healthy":false,"status":"failed")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("status":"failed","message":"no \"luck\"","timestamp":5)"),
            std::string::npos)
      << text;
}

TEST(WorkerJson, ShowsEverythingButTheKey) {
  observability::Metrics metrics({1.0}, "test");
  auto entry = entry_of(R"({"url":"http://h:1","api_key":"canary","labels":{"zone":"a"},"cost":2.5,
      "health":{"drain_settle_secs":0},"http_pool":{"timeout_secs":9,"http2":false},
      "resilience":{"max_retries":2,"jitter_factor":0.1,"capacity_status_codes":[429]}})");
  entry.discovered.labels = {{"served_model_name", "m1"}, {"max_model_len", "4096"}};
  entry.discovered.models = {{"m1", 4096}};
  entry.discovered.runtime_type = "sglang";
  entry.workers.push_back(
      std::make_shared<routing::Worker>(worker_facts(entry.id, entry.spec, entry.discovered, {}),
                                        nullptr, metrics.open_worker_series("http://h:1")));
  entry.set_status(routing::WorkerStatus::Ready);
  const routing::LoadGuard running(*entry.workers.front());
  EXPECT_EQ(text_of(entry),
            R"({"id":"01a22aa0-4b32-70d1-8cec-c303fb238eb0","model_id":"m1","url":"http://h:1",)"
            R"("models":[{"id":"m1","model_type":["chat","completions","responses","tools"],)"
            R"("context_length":4096}],"worker_type":"regular","connection_mode":"http",)"
            R"("runtime_type":"sglang","labels":{"max_model_len":"4096",)"
            R"("served_model_name":"m1","zone":"a"},"priority":50,"cost":2.5,)"
            R"("max_connection_attempts":20,"is_healthy":true,"status":"ready","load":1,)"
            R"("http2":false,"health":{"drain_settle_secs":0},)"
            R"("http_pool":{"timeout_secs":9,"http2":false},)"
            R"("resilience":{"max_retries":2,"jitter_factor":0.1,)"
            R"("capacity_status_codes":[429]}})");
}

TEST(WorkerJson, ADrainingWorkerHasItsJob) {
  observability::Metrics metrics({1.0}, "test");
  auto entry = entry_of(R"({"url":"http://h:1"})");
  entry.workers.push_back(std::make_shared<routing::Worker>(
      worker_facts(entry.id, entry.spec, {}, {}), nullptr, metrics.open_worker_series("u")));
  entry.set_status(routing::WorkerStatus::Draining);
  entry.job = Job{JobType::RemoveWorker, JobState::Processing, "", 5, {}};
  const std::string text = text_of(entry);
  EXPECT_NE(text.find(R"("model_id":"unknown")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("is_healthy":false,"status":"draining")"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("job_type":"RemoveWorker")"), std::string::npos) << text;
}

}  // namespace
}  // namespace smg::control
