#pragma once

#include <future>

#include <gtest/gtest.h>

#include "support/run_on.hpp"
#include "unit/control/tiny_worker.hpp"
#include <smg/control/admin_endpoints.hpp>

namespace smg::control {

/// A registry on two io threads, called through its endpoints.
class WorkerRegistryTest : public testing::Test {
 protected:
  WorkerRegistryTest() {
    config_.fleet.policy = "round_robin";
    config_.health.disabled = true;
    for (const char* path : {"/health", "/flush_cache", "/get_server_info"})
      worker_.answer(path, 200);
    worker_.answer("/v1/models", 200,
                   R"({"data":[{"id":"base","max_model_len":9},{"id":"adapter"}]})");
  }

  ~WorkerRegistryTest() override { stop(); }

  /// The end of the gateway's life; the file and the worker outlive it.
  void stop() {
    if (!registry_) return;
    threads_[0].post([&] { threads_[0].tasks().spawn(registry_->stop()); });
    wait_until_idle();
    pools_.retire_all();
    wait_until_idle();
    threads_.stop();
    endpoints_.reset();
    registry_.reset();
  }

  void wait_until_idle() {
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      test::call_on(threads_[i], [] {});  // what it posts to itself comes first
      net::run_until_idle(threads_[i]);
    }
  }

  /// smg_worker_pool_size of a model, as its text; empty: there is none.
  [[nodiscard]] std::string pool_size(const std::string& model) const {
    const std::string text = metrics_.exposition();
    auto line = text.find("\nsmg_worker_pool_size{");
    for (; line != std::string::npos; line = text.find("\nsmg_worker_pool_size{", line + 1)) {
      const std::string sample = text.substr(line + 1, text.find('\n', line + 1) - line - 1);
      if (sample.find("model=\"" + model + "\"") != std::string::npos) {
        return sample.substr(sample.rfind(' ') + 1);
      }
    }
    return {};
  }

  void start() {
    registry_ = std::make_unique<WorkerRegistry>(config_, metrics_, threads_, pools_, fleet_);
    endpoints_ = std::make_unique<AdminEndpoints>(config_, *registry_);
    threads_.start();
    registry_->start();
  }

  AdminResponse call(http::Method method, const std::string& path, const std::string& body = {}) {
    AdminRequest request;
    request.method = method;
    request.path = path;
    request.body = body;
    request.content_type = "application/json";
    std::promise<AdminResponse> answer;
    net::IoThread& thread = threads_[1];
    thread.post(
        [&] { thread.tasks().spawn(handle(*endpoints_, thread, std::move(request), answer)); });
    return answer.get_future().get();
  }

  static net::Task<> handle(AdminEndpoints& endpoints, net::IoThread& thread, AdminRequest request,
                            std::promise<AdminResponse>& answer) {
    answer.set_value(co_await endpoints.handle(thread, std::move(request)));
  }

  AdminResponse get(const std::string& path) { return call(http::Method::Get, path); }

  /// Adds the worker; where its page is.
  std::string add(const std::string& more = {}) {
    const auto answer =
        call(http::Method::Post, "/workers", R"({"url":")" + worker_.url() + "\"" + more + "}");
    EXPECT_EQ(answer.status, 202) << answer.body;
    return answer.fields.empty() ? "" : answer.fields.front().second;
  }

  /// Asks until the answer contains `text`: a change that never comes ends in the test's timeout.
  AdminResponse until(const std::string& path, const std::string& text) {
    for (;;) {
      auto answer = get(path);
      if (answer.body.find(text) != std::string::npos) return answer;
      std::this_thread::yield();
    }
  }

  routing::WorkerTablePtr table_on(std::size_t index) {
    std::promise<routing::WorkerTablePtr> table;
    threads_[index].post([&] { table.set_value(fleet_.on(threads_[index])); });
    return table.get_future().get();
  }

  /// The table of a thread, once it has this many workers.
  routing::WorkerTablePtr table_of(std::size_t index, std::size_t workers) {
    auto table = table_on(index);
    while (table->workers().size() != workers) table = table_on(index);
    return table;
  }

  config::GatewayConfig config_;
  observability::Metrics metrics_{{1.0}, "test"};
  net::IoThreads threads_{2};
  upstream::PoolDirectory pools_{threads_, {}};
  relay::FleetView fleet_{threads_};
  TinyWorker worker_;
  std::unique_ptr<WorkerRegistry> registry_;
  std::unique_ptr<AdminEndpoints> endpoints_;
};

}  // namespace smg::control
