#include <algorithm>
#include <array>

#include "control/fleet_calls.hpp"
#include "control/json_writer.hpp"
#include "control/query.hpp"
#include "control/worker_spec.hpp"
#include <smg/base/uuid.hpp>
#include <smg/control/admin_endpoints.hpp>

namespace smg::control {
namespace {

constexpr std::string_view kOneWorker = "/workers/{worker_id}";
constexpr std::string_view kOneWorkerPrefix = "/workers/";
constexpr std::uint64_t kProxyLimit = 64 * 1024 * 1024;

/// Path or template, Allow, probe, body. Which keys they ask for is in route_class.cpp.
constexpr std::array<AdminRoute, 12> kRoutes{{
    {"/liveness", "GET,HEAD", true, false},
    {"/health", "GET,HEAD", true, false},
    {"/readiness", "GET,HEAD", true, false},
    {"/v1/models", "GET,HEAD", false, false},
    {"/get_model_info", "GET,HEAD", false, false},
    {"/get_server_info", "GET,HEAD", false, false},
    {"/health_generate", "GET,HEAD", false, false},
    {"/engine_metrics", "GET,HEAD", false, false},
    {"/workers", "GET,HEAD,POST", false, true},
    {kOneWorker, "GET,HEAD,PUT,PATCH,DELETE", false, true},
    {"/flush_cache", "POST", false, true},
    {"/get_loads", "GET,HEAD", false, false},
}};

bool matches(const AdminRoute& route, std::string_view path) {
  if (route.path_template != kOneWorker) return route.path_template == path;
  const auto id = path.substr(std::min(path.size(), kOneWorkerPrefix.size()));
  return path.starts_with(kOneWorkerPrefix) && !id.empty() && id.find('/') == id.npos;
}

AdminResponse refusal(const ControlError& error) {
  JsonWriter json;
  json.begin_object().field("error", error.message).field("code", error.code).end_object();
  return json_response(error.status, json.take());
}

/// Nothing, or why a body cannot be a worker spec. PATCH and PUT are as strict as POST.
std::optional<ControlError> wrong_media_type(const AdminRequest& request) {
  if (http::has_media_type(request.content_type, "application/json")) return std::nullopt;
  return ControlError{415, "UNSUPPORTED_MEDIA_TYPE", "Content-Type must be application/json"};
}

/// Whether some request can be answered: by a whole worker, or by one of either role, as far as the
/// mode asks them.
bool can_serve(const Workers& workers, config::RouterMode mode) {
  const auto has = [&](routing::WorkerRole role) {
    return std::ranges::any_of(workers, [&](const routing::WorkerPtr& worker) {
      return worker->healthy() && worker->facts().pd.role == role;
    });
  };
  using routing::WorkerRole;
  const bool whole = mode != config::RouterMode::PrefillDecode && has(WorkerRole::Regular);
  const bool shared =
      mode != config::RouterMode::Regular && has(WorkerRole::Prefill) && has(WorkerRole::Decode);
  return whole || shared;
}

AdminResponse accepted(const ControlResult<WorkerRegistry::Accepted>& change,
                       std::string_view what) {
  if (!change) return refusal(change.error());
  JsonWriter json;
  json.begin_object().field("status", "accepted").field("worker_id", change->id);
  json.field("message", "Worker " + std::string(what) + " queued for background processing");
  json.end_object();
  return json_response(202, json.take());
}

AdminResponse created(const ControlResult<WorkerRegistry::Accepted>& change) {
  if (!change) return refusal(change.error());
  const std::string location = std::string(kOneWorkerPrefix) + change->id;
  JsonWriter json;
  json.begin_object().field("status", "accepted").field("worker_id", change->id);
  json.field("url", change->url).field("location", location);
  json.field("message", "Worker addition queued for background processing").end_object();
  AdminResponse response = json_response(202, json.take());
  response.fields.emplace_back("location", location);
  return response;
}

}  // namespace

std::optional<AdminRoute> AdminEndpoints::match(std::string_view path) const {
  for (const auto& route : kRoutes) {
    if (matches(route, path)) return route;
  }
  return std::nullopt;
}

bool AdminEndpoints::allows(const AdminRoute& route, http::Method method) const {
  return text::list_has(route.allow, http::name(method));
}

net::Task<AdminResponse> AdminEndpoints::handle(net::IoThread& thread, AdminRequest request,
                                                net::AbortSwitch* abort) {
  const auto route = match(request.path);
  const std::string_view path = route ? route->path_template : std::string_view{};
  if (path == "/liveness" || path == "/health") co_return text_response(200, "OK");
  if (path == "/readiness") co_return readiness();
  if (path == "/v1/models") co_return model_list();
  if (path == "/workers" || path == kOneWorker) {
    auto response = path == kOneWorker ? one_worker(request) : workers_collection(request);
    // What has been promised outlives a crash.
    if (response.status == 202) co_await registry_.saved(thread);
    co_return response;
  }
  if (path == "/get_loads") co_return json_response(200, registry_.describe_loads());
  co_return co_await call_workers(thread, path, std::move(request), abort);
}

net::Task<AdminResponse> AdminEndpoints::call_workers(net::IoThread& thread, std::string_view path,
                                                      AdminRequest request,
                                                      net::AbortSwitch* abort) {
  CancelScope scope(thread);
  if (abort != nullptr) {
    abort->set([&scope] { scope.cancel(); });
    if (abort->aborted()) scope.cancel();
  }
  AdminResponse response;
  if (path == "/flush_cache") {
    response = co_await flush_caches(scope, registry_.engines());
  } else if (path == "/engine_metrics") {
    response = co_await engine_metrics(scope, registry_.engines());
  } else if (!path.empty()) {
    const auto limit = std::min(kProxyLimit, config_.limits.max_payload_size);
    auto workers = registry_.workers();
    const bool pairs = config_.modes.router() == config::RouterMode::PrefillDecode;
    if (pairs && path == "/health_generate") {
      response = co_await ask_pair(scope, std::move(workers), std::move(request), limit);
    } else {
      if (pairs) keep_role(workers, routing::WorkerRole::Prefill);
      response = co_await ask_one_worker(scope, std::move(workers), std::move(request), limit,
                                         [this] { registry_.metrics().count_send_retry(); });
    }
  } else {
    response.status = 404;
  }
  if (abort != nullptr) abort->clear();
  co_return response;
}

AdminResponse AdminEndpoints::readiness() const {
  const auto workers = registry_.workers();
  const auto healthy =
      std::ranges::count_if(workers, [](const auto& worker) { return worker->healthy(); });
  const bool draining = draining_.load(std::memory_order_relaxed);
  JsonWriter json;
  if (!draining && can_serve(workers, config_.modes.router())) {
    json.begin_object().field("status", "ready").field("healthy_workers", healthy);
    json.field("total_workers", workers.size()).end_object();
    return json_response(200, json.take());
  }
  json.begin_object().field("status", "not ready");
  json.field("reason", draining ? "draining" : "insufficient healthy workers").end_object();
  return json_response(503, json.take());
}

AdminResponse AdminEndpoints::model_list() const {
  JsonWriter json;
  json.begin_object().field("object", "list").key("data").begin_array();
  for (const auto& model : registry_.models()) {
    json.begin_object().field("id", model).field("object", "model").field("created", 0);
    json.field("owned_by", "self_hosted").end_object();
  }
  json.end_array().end_object();
  return json_response(200, json.take());
}

AdminResponse AdminEndpoints::workers_collection(const AdminRequest& request) {
  if (request.method != http::Method::Post) {
    return json_response(200, registry_.describe_all(query_parameter(request.query, "model")));
  }
  if (const auto wrong = wrong_media_type(request)) return refusal(*wrong);
  auto spec = parse_worker_spec(request.body);
  if (!spec) return refusal(spec.error());
  return created(registry_.add(std::move(*spec)));
}

AdminResponse AdminEndpoints::one_worker(const AdminRequest& request) {
  const std::string_view id = std::string_view(request.path).substr(kOneWorkerPrefix.size());
  if (!is_uuid(id)) return refusal(bad_request("Invalid worker_id (expected a UUID)"));
  const std::string worker_id = text::to_lower(id);
  const bool replaces = request.method == http::Method::Put;
  if (request.method == http::Method::Delete) {
    return accepted(registry_.remove(worker_id), "removal");
  }
  if (!replaces && request.method != http::Method::Patch) {
    auto page = registry_.describe(worker_id);
    if (page) return json_response(200, std::move(*page));
    return refusal({404, "WORKER_NOT_FOUND", "Worker " + worker_id + " not found"});
  }
  if (const auto wrong = wrong_media_type(request)) return refusal(*wrong);
  if (replaces) {
    auto spec = parse_worker_spec(request.body);
    if (!spec) return refusal(spec.error());
    return accepted(registry_.replace(worker_id, std::move(*spec)), "update");
  }
  const auto patch = parse_worker_patch(request.body);
  if (!patch) return refusal(patch.error());
  return accepted(registry_.change(worker_id, *patch), "update");
}

}  // namespace smg::control
