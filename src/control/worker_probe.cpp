#include "control/worker_probe.hpp"

#include <algorithm>

#include <smg/observability/log.hpp>

namespace smg::control {
namespace {

constexpr net::Duration kFirstPause = std::chrono::seconds(1);
constexpr net::Duration kMetadataTimeout = std::chrono::seconds(10);
constexpr net::Duration kMetadataPause = std::chrono::milliseconds(200);
constexpr int kMetadataAttempts = 3;
constexpr std::size_t kMetadataLimit = 4 * 1024 * 1024;

using PoolPtr = std::shared_ptr<upstream::HostPool>;

net::Task<Result<PoolPtr>> await_health(CancelScope& scope, const ProbeSettings& settings) {
  const auto give_up = net::Clock::now() + settings.startup_timeout;
  net::Duration pause = kFirstPause;
  for (;;) {
    auto healthy = co_await probe_protocol(scope, settings.address, settings.health);
    if (healthy || scope.cancelled()) co_return healthy;
    observability::log_debug(
        "worker is not healthy yet",
        {{"worker", settings.address.origin.authority}, {"reason", healthy.error().message}});
    pause = std::min(pause, settings.longest_pause);
    const auto left = give_up - net::Clock::now();
    if (left <= net::Duration::zero()) co_return healthy;
    co_await scope.sleep(std::min(pause, left));
    pause *= 2;
  }
}

/// A worker on its way to registration, healthy by now.
struct Questioned {
  PoolPtr pool;
  const std::string& api_key;
};

/// A worker that has just started may fail once; an answer with a verdict is final.
bool worth_another_try(const Result<upstream::FetchedResponse>& response) {
  if (!response) return response.error().code != ErrorCode::Aborted;
  return response->status == 502 || response->status == 503 || response->status == 504;
}

net::Task<Result<upstream::FetchedResponse>> ask(CancelScope& scope, const Questioned& worker,
                                                 std::string target) {
  net::Duration pause = kMetadataPause;
  for (int attempt = 1;; ++attempt) {
    upstream::FetchRequest request;
    request.target = target;
    request.api_key = worker.api_key;
    auto response =
        co_await scope.fetch(worker.pool, std::move(request), kMetadataTimeout, kMetadataLimit);
    const bool final = attempt == kMetadataAttempts || !worth_another_try(response);
    if (final || scope.cancelled()) co_return response;
    co_await scope.sleep(pause);
    pause *= 2;
  }
}

using Answer = Result<upstream::FetchedResponse>;

net::Task<> ask_into(CancelScope& scope, const Questioned& worker, std::string target,
                     std::string otherwise, Answer& answer) {
  answer = co_await ask(scope, worker, std::move(target));
  if (answer && answer->status == 404 && !otherwise.empty()) {
    answer = co_await ask(scope, worker, std::move(otherwise));
  }
}

bool is_good(const Answer& answer) {
  return answer && answer->ok();
}

net::Task<DiscoveredWorker> discover(CancelScope& scope, const Questioned& worker,
                                     bool detect_runtime) {
  Answer server_info = fail(ErrorCode::Aborted);
  Answer model_info = fail(ErrorCode::Aborted);
  Answer models = fail(ErrorCode::Aborted);
  net::TaskGroup questions(scope.thread().executor());
  questions.spawn(ask_into(scope, worker, "/v1/models", "", models));
  questions.spawn(ask_into(scope, worker, "/server_info", "/get_server_info", server_info));
  questions.spawn(ask_into(scope, worker, "/model_info", "/get_model_info", model_info));
  co_await questions.join();
  MetadataReader reader;
  if (is_good(server_info)) {
    reader.found_server_info();
    reader.read_info(server_info->body);
  }
  if (is_good(model_info)) reader.read_info(model_info->body);
  if (is_good(models)) reader.read_models(models->body);
  if (detect_runtime && reader.runtime_type() == "generic") {
    const Answer version = co_await ask(scope, worker, "/version");
    if (is_good(version)) {
      reader.found_version();
      reader.read_version(version->body);
    }
  }
  co_return reader.take();
}

}  // namespace

net::Task<Result<ProbedWorker>> probe_worker(CancelScope& scope, const ProbeSettings& settings) {
  if (settings.startup_delay > net::Duration::zero()) {
    co_await scope.sleep(settings.startup_delay);
  }
  auto pool = co_await await_health(scope, settings);
  if (scope.cancelled()) co_return fail(ErrorCode::Aborted);
  if (!pool) co_return pool.error();
  const Questioned worker{*pool, settings.health.api_key};
  ProbedWorker probed;
  probed.discovered = co_await discover(scope, worker, settings.detect_runtime);
  probed.pool = *pool;
  if (scope.cancelled()) {
    probed.pool->retire();
    co_return fail(ErrorCode::Aborted);
  }
  co_return probed;
}

}  // namespace smg::control
