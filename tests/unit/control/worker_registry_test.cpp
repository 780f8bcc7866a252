#include "unit/control/registry_fixture.hpp"

namespace smg::control {
namespace {

TEST_F(WorkerRegistryTest, RegistersTheWorkersOfTheFlags) {
  config_.fleet.worker_urls = {worker_.url()};
  start();
  const auto list = until("/workers", R"("status":"ready")").body;
  EXPECT_NE(
      list.find(R"("total":1,"stats":{"prefill_count":0,"decode_count":0,"regular_count":1})"),
      std::string::npos)
      << list;
  for (const std::size_t index : {0U, 1U}) {
    const auto table = table_of(index, 1);
    ASSERT_NE(table->find("base"), nullptr);
    ASSERT_NE(table->find("adapter"), nullptr);
    EXPECT_TRUE(table->workers().front()->healthy());
  }
  EXPECT_EQ(get("/v1/models").body,
            R"({"object":"list","data":[{"id":"base","object":"model","created":0,)"
            R"("owned_by":"self_hosted"},{"id":"adapter","object":"model","created":0,)"
            R"("owned_by":"self_hosted"}]})");
  EXPECT_EQ(get("/readiness").body, R"({"status":"ready","healthy_workers":1,"total_workers":1})");
  EXPECT_EQ(pool_size("base"), "1");
  EXPECT_EQ(pool_size("adapter"), "1");
}

TEST_F(WorkerRegistryTest, ProbesCarryTheWorkersKey) {
  start();
  add(R"(,"api_key":"its-own")");
  until("/workers", R"("status":"ready")");
  ASSERT_GE(worker_.seen().size(), 4U);
  for (const auto& head : worker_.seen()) {
    EXPECT_NE(head.find("Bearer its-own"), std::string::npos) << head;
  }
  EXPECT_EQ(get("/workers").body.find("its-own"), std::string::npos);
}

TEST_F(WorkerRegistryTest, AUrlIsRegisteredOnce) {
  start();
  const std::string page = add();
  until(page, R"("status":"ready")");
  const auto again = call(http::Method::Post, "/workers", R"({"url":")" + worker_.url() + R"(/"})");
  EXPECT_EQ(again.status, 409);
  EXPECT_NE(again.body.find("WORKER_ALREADY_EXISTS"), std::string::npos);
}

TEST_F(WorkerRegistryTest, APendingWorkerCanBeFollowedAndCancelled) {
  worker_.answer("/health", 503);
  start();
  const std::string page = add();
  const auto pending = get(page);
  EXPECT_NE(pending.body.find(R"("status":"pending")"), std::string::npos) << pending.body;
  EXPECT_NE(get("/workers").body.find(R"("workers":[])"), std::string::npos);
  const auto again = call(http::Method::Post, "/workers", R"({"url":")" + worker_.url() + R"("})");
  EXPECT_EQ(again.status, 409);
  EXPECT_NE(again.body.find("WORKER_CREATE_IN_PROGRESS"), std::string::npos);
  EXPECT_EQ(call(http::Method::Delete, page).status, 202);
  EXPECT_EQ(get(page).status, 404);
}

TEST_F(WorkerRegistryTest, AFailedRegistrationSaysWhyAndMakesRoom) {
  config_.fleet.startup_timeout = config::Seconds(0);
  worker_.answer("/health", 503);
  start();
  const std::string page = add();
  const auto failed = until(page, R"("status":"failed","message":)");
  EXPECT_NE(failed.body.find("GET /health answered 503"), std::string::npos) << failed.body;
  worker_.answer("/health", 200);
  EXPECT_NE(add(), page);
  until("/workers", R"("status":"ready")");
  EXPECT_EQ(get(page).status, 404);
}

TEST_F(WorkerRegistryTest, PatchKeepsTheWorkerAndItsLoad) {
  start();
  const std::string page = add(R"(,"priority":10,"labels":{"a":"1"})");
  until(page, R"("status":"ready")");
  const routing::WorkerPtr worker = registry_->workers().front();
  const routing::LoadGuard running(*worker);
  const auto patched =
      call(http::Method::Patch, page, R"({"cost":3,"labels":{"b":"2"},"api_key":"new"})");
  EXPECT_EQ(patched.status, 202);
  const std::string after = get(page).body;
  EXPECT_NE(after.find(R"("a":"1","b":"2")"), std::string::npos) << after;
  EXPECT_NE(after.find(R"("priority":10,"cost":3.0)"), std::string::npos) << after;
  EXPECT_NE(after.find(R"("status":"ready","load":1)"), std::string::npos) << after;
  while (table_on(1)->workers().front()->facts().api_key != "new") std::this_thread::yield();
}

TEST_F(WorkerRegistryTest, PutRegistersAnewUnderTheSameId) {
  start();
  const std::string page = add(R"(,"priority":10)");
  until(page, R"("status":"ready")");
  const auto elsewhere = call(http::Method::Put, page, R"({"url":"http://127.0.0.1:1"})");
  EXPECT_EQ(elsewhere.status, 400);
  EXPECT_EQ(call(http::Method::Put, page, R"({"url":")" + worker_.url() + R"(","cost":4})").status,
            202);
  until(page, R"("priority":50,"cost":4.0)");
}

/// The requests in flight are the engine's, however often it registers.
TEST_F(WorkerRegistryTest, PutKeepsTheLoadAndDrainsForIt) {
  start();
  const std::string page = add();
  until(page, R"("status":"ready","load":0)");
  {
    const routing::WorkerPtr before = registry_->workers().front();
    const routing::LoadGuard running(*before);
    const std::string spec =
        R"({"url":")" + worker_.url() + R"(","cost":4,"health":{"drain_settle_secs":600}})";
    EXPECT_EQ(call(http::Method::Put, page, spec).status, 202);
    until(page, R"("cost":4.0)");
    EXPECT_NE(get(page).body.find(R"("load":1)"), std::string::npos);
    EXPECT_EQ(call(http::Method::Delete, page).status, 202);
    std::this_thread::sleep_for(std::chrono::milliseconds(60));  // thrice its poll
    EXPECT_NE(get(page).body.find(R"("status":"draining","load":1)"), std::string::npos);
  }
  until(page, "WORKER_NOT_FOUND");
}

/// Ruling 29: whoever still looks at the fleet as it was.
TEST_F(WorkerRegistryTest, TheSeriesOfARemovedWorkerGoWhileItIsRemembered) {
  start();
  const std::string page = add();
  until(page, R"("status":"ready")");
  const auto before = table_on(0);
  EXPECT_EQ(call(http::Method::Put, page, R"({"url":")" + worker_.url() + R"(","cost":4})").status,
            202);
  until(page, R"("cost":4.0)");
  const auto after = table_on(0);
  const std::string series = R"({worker=")" + worker_.url() + "\"";
  EXPECT_NE(metrics_.exposition().find(series), std::string::npos);
  EXPECT_EQ(call(http::Method::Delete, page).status, 202);
  until(page, "WORKER_NOT_FOUND");
  EXPECT_EQ(metrics_.exposition().find(series), std::string::npos);
}

TEST_F(WorkerRegistryTest, DrainsUntilTheLastRequestHasEnded) {
  start();
  const std::string page = add(R"(,"health":{"drain_settle_secs":600})");
  until(page, R"("status":"ready")");
  {
    const routing::WorkerPtr worker = registry_->workers().front();
    const routing::LoadGuard running(*worker);
    EXPECT_EQ(call(http::Method::Delete, page).status, 202);
    const std::string draining = get(page).body;
    EXPECT_NE(draining.find(R"("is_healthy":false,"status":"draining")"), std::string::npos)
        << draining;
    EXPECT_NE(draining.find(R"("job_type":"RemoveWorker")"), std::string::npos) << draining;
    EXPECT_EQ(call(http::Method::Delete, page).status, 202);
  }
  until(page, "WORKER_NOT_FOUND");
  EXPECT_EQ(table_of(0, 0)->find("base"), nullptr);
  EXPECT_EQ(get("/readiness").status, 503);
  EXPECT_EQ(pool_size("base"), "0");
}

TEST_F(WorkerRegistryTest, EndpointsSpeakForTheFleet) {
  worker_.answer("/get_server_info", 200, R"({"odd":[1.50]})");
  start();
  const auto nobody = get("/get_server_info");
  EXPECT_EQ(nobody.status, 503);
  EXPECT_EQ(nobody.error_code, "no_workers");
  EXPECT_EQ(nobody.body, R"({"error":{"type":"Service Unavailable","code":"no_workers",)"
                         R"("message":"No workers are available","param":null}})");
  EXPECT_EQ(get("/engine_metrics").status, 500);
  EXPECT_NE(call(http::Method::Post, "/flush_cache").body.find(R"("workers_flushed":0)"),
            std::string::npos);
  add();
  until("/workers", R"("status":"ready")");
  EXPECT_EQ(get("/get_server_info").body, R"({"odd":[1.50]})");
  EXPECT_EQ(get("/health_generate").status, 404) << "the worker's own answer is passed on";
  EXPECT_EQ(call(http::Method::Post, "/flush_cache").body,
            R"({"status":"success","message":"Successfully flushed cache on all 1 workers",)"
            R"("workers_flushed":1,"total_http_workers":1,"total_grpc_workers":0,)"
            R"("total_zmq_workers_skipped":0,"total_workers":1})");
  worker_.answer("/flush_cache", 500);
  const auto partial = call(http::Method::Post, "/flush_cache");
  EXPECT_EQ(partial.status, 206);
  EXPECT_NE(partial.body.find(R"("successful":[],"failed":[{"worker":")" + worker_.url()),
            std::string::npos);
}

TEST_F(WorkerRegistryTest, ReadinessSaysDraining) {
  start();
  EXPECT_EQ(get("/readiness").body,
            R"({"status":"not ready","reason":"insufficient healthy workers"})");
  endpoints_->set_draining();
  EXPECT_EQ(get("/readiness").body, R"({"status":"not ready","reason":"draining"})");
  EXPECT_EQ(get("/health").body, "OK");
}

TEST_F(WorkerRegistryTest, RefusesIdsThatAreNone) {
  start();
  struct Case {
    std::string path;
    int status;
  };
  const Case cases[] = {{"/workers/abc", 400},
                        {"/workers/01a22aa0-4b32-70d1-8cec-c303fb238eb0", 404}};
  for (const auto& [path, status] : cases) {
    EXPECT_EQ(get(path).status, status) << path;
    EXPECT_EQ(call(http::Method::Delete, path).status, status) << path;
    EXPECT_EQ(call(http::Method::Patch, path, "{}").status, status) << path;
    EXPECT_EQ(call(http::Method::Put, path, R"({"url":"http://h"})").status, status) << path;
  }
}

TEST_F(WorkerRegistryTest, MatchesExactPaths) {
  start();
  for (const char* path : {"/workers", "/workers/x", "/flush_cache", "/v1/models", "/get_loads"}) {
    EXPECT_TRUE(endpoints_->match(path)) << path;
  }
  for (const char* path :
       {"", "/", "/workers/", "/workers/x/y", "/Workers", "/health/", "/metrics"}) {
    EXPECT_FALSE(endpoints_->match(path)) << path;
  }
  const auto page = *endpoints_->match("/workers/x");
  EXPECT_EQ(page.path_template, "/workers/{worker_id}");
  EXPECT_TRUE(endpoints_->allows(page, http::Method::Head));
  EXPECT_FALSE(endpoints_->allows(page, http::Method::Post));
  EXPECT_FALSE(endpoints_->allows(*endpoints_->match("/flush_cache"), http::Method::Get));
}

}  // namespace
}  // namespace smg::control
