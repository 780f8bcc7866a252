#include "control/load_monitor.hpp"

#include <algorithm>
#include <array>

#include "control/query.hpp"

namespace smg::control {
namespace {

constexpr net::Duration kTimeout = std::chrono::seconds(5);
constexpr net::Duration kShortestInterval = std::chrono::seconds(1);
constexpr std::size_t kReportLimit = 4 * 1024 * 1024;

using Answer = Result<upstream::FetchedResponse>;

/// Asks one engine, and remembers which questions it does not know.
class LoadQuestions {
 public:
  LoadQuestions(CancelScope& scope, const routing::WorkerPtr& worker)
      : scope_(scope),
        worker_(worker),
        endpoints_{{{"/loads?model=" + percent_encoded(worker->facts().models.front().id, "/:")},
                    {"/v1/loads?include=core,disagg,queues,memory"}}} {}

  /// The report; nothing if there is none to be had now.
  net::Task<std::optional<EngineLoad>> ask() {
    for (auto& endpoint : endpoints_) {
      if (endpoint.absent) continue;
      const Answer answer = co_await get(endpoint.target);
      if (!answer) co_return nobody();
      if (answer->status == 404 || answer->status == 405 || answer->status == 501) {
        endpoint.absent = true;
      }
      if (answer->status != 200) continue;
      auto load = parse_engine_load(answer->body);
      if (load) co_return load;
      endpoint.absent = true;
    }
    auto load = co_await scrape();
    co_return load;
  }

 private:
  struct Endpoint {
    std::string target;
    bool absent = false;
  };

  net::Task<Answer> get(std::string target) {
    upstream::FetchRequest request;
    request.target = std::move(target);
    request.api_key = worker_->facts().api_key;
    auto answer =
        co_await scope_.fetch(worker_->shared_pool(), std::move(request), kTimeout, kReportLimit);
    co_return answer;
  }

  net::Task<std::optional<EngineLoad>> scrape() {
    const std::string& runtime = worker_->facts().runtime_type;
    if (runtime != "vllm" && runtime != "sglang") co_return std::nullopt;
    const Answer answer = co_await get("/metrics");
    if (!answer) co_return nobody();
    if (!answer->ok()) co_return std::nullopt;
    co_return parse_engine_metrics(runtime, answer->body);
  }

  std::optional<EngineLoad> nobody() {
    for (auto& endpoint : endpoints_) endpoint.absent = false;
    return std::nullopt;
  }

  CancelScope& scope_;
  const routing::WorkerPtr worker_;
  std::array<Endpoint, 2> endpoints_;
};

}  // namespace

net::Task<> watch_load(std::shared_ptr<CancelScope> scope, LoadSubject subject) {
  const net::Duration interval =
      std::max<net::Duration>(subject.worker->facts().load.interval, kShortestInterval);
  LoadQuestions questions(*scope, subject.worker);
  auto next = net::Clock::now();
  while (!scope->cancelled()) {
    auto load = co_await questions.ask();
    if (scope->cancelled()) co_return;
    if (load && load->ranks.empty()) load.reset();
    subject.polled(std::move(load));
    next = std::max(next + interval, net::Clock::now());
    co_await scope->sleep(next - net::Clock::now());
  }
}

}  // namespace smg::control
