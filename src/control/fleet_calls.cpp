#include "control/fleet_calls.hpp"

#include <algorithm>
#include <atomic>

#include "control/engine_metrics.hpp"
#include "control/json_writer.hpp"

namespace smg::control {
namespace {

using Answer = Result<upstream::FetchedResponse>;

constexpr net::Duration kFlushTimeout = std::chrono::seconds(30);
constexpr net::Duration kMetricsTimeout = std::chrono::seconds(5);
constexpr std::size_t kFlushLimit = 1024 * 1024;
constexpr std::size_t kMetricsLimit = 16 * 1024 * 1024;

struct Call {
  std::string method;
  std::string target;
  net::Duration timeout;
  std::size_t limit;
};

net::Task<> ask_into(CancelScope& scope, routing::WorkerPtr worker, const Call& call,
                     Answer& answer) {
  upstream::FetchRequest request;
  request.method = call.method;
  request.target = call.target;
  request.api_key = worker->facts().api_key;
  request.resend = call.method == "GET";
  answer =
      co_await scope.fetch(worker->shared_pool(), std::move(request), call.timeout, call.limit);
}

/// The same call to all workers, side by side; the answers in their order.
net::Task<std::vector<Answer>> ask_all(CancelScope& scope, const Workers& workers, Call call) {
  std::vector<Answer> answers(workers.size(), fail(ErrorCode::Aborted));
  net::TaskGroup calls(scope.thread().executor());
  for (std::size_t i = 0; i < workers.size(); ++i) {
    calls.spawn(ask_into(scope, workers[i], call, answers[i]));
  }
  co_await calls.join();
  co_return answers;
}

/// The healthy workers in turn, so that no single one answers for the fleet.
routing::WorkerPtr next_healthy(const Workers& workers) {
  static std::atomic<std::size_t> turn{0};
  Workers healthy;
  std::ranges::copy_if(workers, std::back_inserter(healthy),
                       [](const auto& worker) { return worker->healthy(); });
  if (healthy.empty()) return nullptr;
  return healthy[turn.fetch_add(1, std::memory_order_relaxed) % healthy.size()];
}

/// The URL of the whole engine, where the worker is a rank of it.
const std::string& engine_url(const routing::Worker& worker) {
  const auto& rank = worker.facts().rank;
  return rank ? rank->base_url : worker.url();
}

bool is_good(const Answer& answer) {
  return answer && answer->ok();
}

std::string failure_text(const routing::Worker& worker, const Answer& answer) {
  const std::string why =
      answer ? "status " + std::to_string(answer->status) : answer.error().message;
  return "flush_cache failed for worker " + engine_url(worker) + ": " + why;
}

void write_flush_counts(JsonWriter& json, std::size_t flushed, std::size_t workers) {
  json.field("workers_flushed", flushed).field("total_http_workers", workers);
  json.field("total_grpc_workers", 0).field("total_zmq_workers_skipped", 0);
  json.field("total_workers", workers);
}

std::string flush_message(std::size_t flushed, std::size_t workers) {
  if (workers == 0) return "No workers available for cache flush";
  if (flushed == workers) {
    return "Successfully flushed cache on all " + std::to_string(workers) + " workers";
  }
  return "Cache flush: " + std::to_string(flushed) + " succeeded, " +
         std::to_string(workers - flushed) + " failed";
}

void write_flush_results(JsonWriter& json, const Workers& workers,
                         const std::vector<Answer>& answers) {
  json.key("successful").begin_array();
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (is_good(answers[i])) json.value(engine_url(*workers[i]));
  }
  json.end_array().key("failed").begin_array();
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (is_good(answers[i])) continue;
    json.begin_object().field("worker", engine_url(*workers[i]));
    json.field("error", failure_text(*workers[i], answers[i])).end_object();
  }
  json.end_array();
}

}  // namespace

AdminResponse json_response(int status, std::string body) {
  return {status, "application/json", std::move(body), {}, {}};
}

AdminResponse text_response(int status, std::string body) {
  return {status, "text/plain; charset=utf-8", std::move(body), {}, {}};
}

AdminResponse error_response(const GatewayError& error) {
  const std::string code(row(error.code).wire_code);
  JsonWriter json;
  json.begin_object().key("error").begin_object();
  json.field("type", http::reason_phrase(error.status())).field("code", code);
  json.field("message", error.message).key("param").null().end_object().end_object();
  AdminResponse response = json_response(error.status(), json.take());
  response.error_code = code;
  return response;
}

net::Task<AdminResponse> ask_one_worker(CancelScope& scope, Workers workers, AdminRequest request,
                                        std::size_t limit, std::function<void()> on_resend) {
  const auto worker = next_healthy(workers);
  if (!worker) co_return error_response(fail(ErrorCode::NoWorkers, "No workers are available"));
  upstream::FetchRequest question;
  question.target = std::move(request.path);
  question.api_key = worker->facts().api_key;
  question.authorization = std::move(request.authorization);
  question.on_resend = std::move(on_resend);
  auto answer = co_await scope.fetch(worker->shared_pool(), std::move(question),
                                     worker->facts().request_timeout, limit);
  if (!answer) co_return error_response(answer.error());
  co_return AdminResponse{
      answer->status, std::move(answer->content_type), std::move(answer->body), {}, {}};
}

void keep_role(Workers& workers, routing::WorkerRole role) {
  std::erase_if(workers, [&](const auto& worker) { return worker->facts().pd.role != role; });
}

net::Task<AdminResponse> ask_pair(CancelScope& scope, Workers workers, AdminRequest request,
                                  std::size_t limit) {
  std::string report;
  bool all_well = true;
  for (const auto role : {routing::WorkerRole::Prefill, routing::WorkerRole::Decode}) {
    Workers of_role = workers;
    keep_role(of_role, role);
    const auto worker = next_healthy(of_role);
    bool well = false;
    if (worker) {
      upstream::FetchRequest question;
      question.target = request.path;
      question.api_key = worker->facts().api_key;
      question.authorization = request.authorization;
      const Answer answer = co_await scope.fetch(worker->shared_pool(), std::move(question),
                                                 worker->facts().request_timeout, limit);
      well = is_good(answer);
    }
    all_well = all_well && well;
    report.append(report.empty() ? "" : ", ").append(name_of(role)).append(" ");
    report.append(worker ? engine_url(*worker) : "(no healthy worker)");
    if (worker) report.append(well ? " OK" : " failed");
  }
  co_return text_response(all_well ? 200 : 503, std::move(report));
}

net::Task<AdminResponse> flush_caches(CancelScope& scope, Workers workers) {
  const auto answers =
      co_await ask_all(scope, workers, {"POST", "/flush_cache", kFlushTimeout, kFlushLimit});
  const auto flushed = static_cast<std::size_t>(std::ranges::count_if(answers, is_good));
  const bool all = flushed == workers.size();
  JsonWriter json;
  json.begin_object().field("status", all ? "success" : "partial_success");
  json.field("message", flush_message(flushed, workers.size()));
  write_flush_counts(json, flushed, workers.size());
  if (!all) write_flush_results(json, workers, answers);
  json.end_object();
  co_return json_response(all ? 200 : 206, json.take());
}

net::Task<AdminResponse> engine_metrics(CancelScope& scope, Workers workers) {
  if (workers.empty()) co_return text_response(500, "No available workers");
  const auto answers =
      co_await ask_all(scope, workers, {"GET", "/metrics", kMetricsTimeout, kMetricsLimit});
  if (std::ranges::none_of(answers, is_good)) {
    co_return text_response(500, "All backend requests failed");
  }
  EngineMetrics joined;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (is_good(answers[i])) joined.add(engine_url(*workers[i]), answers[i]->body);
  }
  co_return AdminResponse{200, "text/plain; version=0.0.4; charset=utf-8", joined.text(), {}, {}};
}

}  // namespace smg::control
