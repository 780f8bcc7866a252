#include "control/worker_probe.hpp"

#include <algorithm>

#include <smg/observability/log.hpp>

namespace smg::control {
namespace {

constexpr net::Duration kFirstPause = std::chrono::seconds(1);
constexpr net::Duration kMetadataTimeout = std::chrono::seconds(10);
constexpr net::Duration kMetadataPause = std::chrono::milliseconds(200);
constexpr int kMetadataAttempts = 3;
constexpr std::size_t kHealthLimit = 1024 * 1024;
constexpr std::size_t kMetadataLimit = 4 * 1024 * 1024;

net::Task<Result<>> await_health(CancelScope& scope, const ProbeSettings& settings) {
  const auto give_up = net::Clock::now() + settings.startup_timeout;
  net::Duration pause = kFirstPause;
  for (;;) {
    auto healthy = co_await check_health(scope, settings.pool, settings.health_endpoint,
                                         settings.api_key, settings.health_timeout);
    if (healthy || scope.cancelled()) co_return healthy;
    observability::log_debug(
        "worker is not healthy yet",
        {{"worker", settings.pool->origin().authority}, {"reason", healthy.error().message}});
    pause = std::min(pause, settings.longest_pause);
    const auto left = give_up - net::Clock::now();
    if (left <= net::Duration::zero()) co_return healthy;
    co_await scope.sleep(std::min(pause, left));
    pause *= 2;
  }
}

/// A worker that has just started may fail once; an answer with a verdict is final.
bool worth_another_try(const Result<upstream::FetchedResponse>& response) {
  if (!response) return response.error().code != ErrorCode::Aborted;
  return response->status == 502 || response->status == 503 || response->status == 504;
}

net::Task<Result<upstream::FetchedResponse>> ask(CancelScope& scope, const ProbeSettings& settings,
                                                 std::string target) {
  net::Duration pause = kMetadataPause;
  for (int attempt = 1;; ++attempt) {
    upstream::FetchRequest request;
    request.target = target;
    request.api_key = settings.api_key;
    auto response =
        co_await scope.fetch(settings.pool, std::move(request), kMetadataTimeout, kMetadataLimit);
    const bool final = attempt == kMetadataAttempts || !worth_another_try(response);
    if (final || scope.cancelled()) co_return response;
    co_await scope.sleep(pause);
    pause *= 2;
  }
}

using Answer = Result<upstream::FetchedResponse>;

net::Task<> ask_into(CancelScope& scope, const ProbeSettings& settings, std::string target,
                     std::string otherwise, Answer& answer) {
  answer = co_await ask(scope, settings, std::move(target));
  if (answer && answer->status == 404 && !otherwise.empty()) {
    answer = co_await ask(scope, settings, std::move(otherwise));
  }
}

bool is_good(const Answer& answer) {
  return answer && answer->ok();
}

net::Task<DiscoveredWorker> discover(CancelScope& scope, const ProbeSettings& settings) {
  Answer server_info = fail(ErrorCode::Aborted);
  Answer model_info = fail(ErrorCode::Aborted);
  Answer models = fail(ErrorCode::Aborted);
  net::TaskGroup questions(scope.thread().executor());
  questions.spawn(ask_into(scope, settings, "/v1/models", "", models));
  questions.spawn(ask_into(scope, settings, "/server_info", "/get_server_info", server_info));
  questions.spawn(ask_into(scope, settings, "/model_info", "/get_model_info", model_info));
  co_await questions.join();
  MetadataReader reader;
  if (is_good(server_info)) {
    reader.found_server_info();
    reader.read_info(server_info->body);
  }
  if (is_good(model_info)) reader.read_info(model_info->body);
  if (is_good(models)) reader.read_models(models->body);
  if (settings.detect_runtime && reader.runtime_type() == "generic") {
    const Answer version = co_await ask(scope, settings, "/version");
    if (is_good(version)) {
      reader.found_version();
      reader.read_version(version->body);
    }
  }
  co_return reader.take();
}

}  // namespace

net::Task<Result<>> check_health(CancelScope& scope, std::shared_ptr<upstream::HostPool> pool,
                                 std::string endpoint, std::string api_key, net::Duration timeout) {
  upstream::FetchRequest request;
  request.target = endpoint;
  request.api_key = std::move(api_key);
  const auto response =
      co_await scope.fetch(std::move(pool), std::move(request), timeout, kHealthLimit);
  if (!response) co_return response.error();
  if (response->ok()) co_return Result<>();
  co_return fail(ErrorCode::UpstreamConnect,
                 "GET " + endpoint + " answered " + std::to_string(response->status));
}

net::Task<Result<DiscoveredWorker>> probe_worker(CancelScope& scope,
                                                 const ProbeSettings& settings) {
  if (settings.startup_delay > net::Duration::zero()) {
    co_await scope.sleep(settings.startup_delay);
  }
  const auto healthy = co_await await_health(scope, settings);
  if (scope.cancelled()) co_return fail(ErrorCode::Aborted);
  if (!healthy) co_return healthy.error();
  auto discovered = co_await discover(scope, settings);
  if (scope.cancelled()) co_return fail(ErrorCode::Aborted);
  co_return discovered;
}

}  // namespace smg::control
