#include "gateway/request_lifecycle.hpp"

#include "gateway/request_tracing.hpp"
#include <smg/base/body_buffer.hpp>
#include <smg/observability/access_log.hpp>
#include <smg/observability/audit_log.hpp>
#include <smg/observability/log.hpp>
#include <smg/observability/request_id.hpp>
#include <smg/relay/header_rules.hpp>

namespace smg::gateway {
namespace {

using Clock = std::chrono::steady_clock;
using http::Method;

/// Counts a request as in service until its last bytes leave, or else for as long as it lives.
class InService {
 public:
  explicit InService(observability::Metrics& metrics) : metrics_(metrics) {
    metrics_.http_request_began();
  }
  ~InService() { end(); }
  InService(const InService&) = delete;
  InService& operator=(const InService&) = delete;

  void end() {
    if (!std::exchange(ended_, true)) metrics_.http_request_ended();
  }

 private:
  observability::Metrics& metrics_;
  bool ended_ = false;
};

/// Clients that leave, or whose upload stands still, are no errors of the router's (spec, request
/// path section 3).
bool is_router_error(ErrorCode code) noexcept {
  return code != ErrorCode::ClientGone && code != ErrorCode::BodyStalled;
}

std::string_view id_prefix(std::string_view path) noexcept {
  for (const auto& facts : kRouteFacts) {
    if (facts.path == path) return facts.request_id_prefix;
  }
  return "req-";
}

std::string_view version_text(int version) noexcept {
  if (version == 20) return "HTTP/2";
  return version == 10 ? "HTTP/1.0" : "HTTP/1.1";
}

}  // namespace

/// Whose a path is: a worker's to answer, or ours. Neither: nobody's.
struct RequestLifecycle::Route {
  std::optional<InferenceRoute> inference;
  std::optional<control::AdminRoute> admin;
};

/// One request's facts for metrics and the access log.
struct RequestLifecycle::Request {
  http::ClientExchange& client;
  relay::RequestId id;
  Clock::time_point started;
  relay::CorsAnswer cors;
  InService in_service;
  std::string_view path_template{};  ///< empty: the path is not one of ours
  bool is_probe = false;
  bool hides_credential = false;  ///< no worker may see the client's credential
  int status = 0;
  std::string_view error_code{};
  std::string worker_url{};
  bool streamed = false;
  AdmissionPermit permit{};
  observability::RequestTracePtr trace{};          ///< null: the request is not traced
  const relay::RequestContext* relayed = nullptr;  ///< only within run_inference
  bool success_observed = false;

  /// The last bytes are about to go: whoever has them finds the request ended.
  void make_way() {
    permit.give_back();
    in_service.end();
  }
};

relay::RequestId request_id_of(const http::RequestHead& head,
                               const std::vector<std::string>& id_fields) {
  for (const std::string& name : id_fields) {
    const auto* field = head.find(name);
    if (field != nullptr && observability::acceptable_request_id(field->value)) {
      return {std::string(observability::clip_request_id(field->value)), true};
    }
  }
  return {observability::make_request_id(id_prefix(head.path)), false};
}

void write_plain(http::ClientExchange& client, const PlainResponse& response,
                 std::string_view request_id, const relay::CorsAnswer& cors,
                 const http::Fields& further) {
  http::ClientResponse head{response.status, further};
  if (!response.content_type.empty()) {
    head.fields.push_back({"content-type", response.content_type});
  }
  if (!response.error_code.empty()) {
    head.fields.push_back({"x-smg-error-code", response.error_code});
  }
  const std::string retry_after = std::to_string(response.retry_after_seconds);
  if (response.retry_after_seconds > 0) head.fields.push_back({"retry-after", retry_after});
  relay::append_gateway_fields(head.fields, request_id, cors);
  client.write_head(head, http::BodyLength::known(response.body.size()));
  client.write_body(response.body, true);
}

net::Task<> RequestLifecycle::handle(http::ClientExchange& client) {
  Request request{.client = client,
                  .id = request_id_of(client.head(), config_.listen.request_id_headers),
                  .started = Clock::now(),
                  .cors = cors_.answer(client.head()),
                  .in_service = InService(metrics_)};
  const InflightAges::Entry age(ages_, client.thread(), request.started);
  try {
    co_await dispatch(request);
  } catch (const std::exception& e) {
    // Memory that cannot be had ends one request, not the process.
    observability::log_error("a request failed within the gateway",
                             {{"request_id", request.id.text}, {"what", e.what()}});
    fail_internally(request);
  }
  finish(request);
}

/// A response of the gateway's own, counted before its client can have it.
void RequestLifecycle::answer(Request& request, const PlainResponse& response,
                              const http::Fields& further) {
  request.make_way();
  request.error_code = response.error_code;
  head_goes_out(request, response.status);
  write_plain(request.client, response, request.id.text, request.cors, further);
}

void RequestLifecycle::head_goes_out(Request& request, int status) {
  request.status = status;
  if (request.path_template.empty()) return;
  metrics_.count_http_response(request.path_template, status, request.error_code);
  metrics_.observe_http_duration(http::name(request.client.head().method), request.path_template,
                                 Clock::now() - request.started);
}

void RequestLifecycle::fail_internally(Request& request) {
  if (request.trace) request.trace->outcome.fail_with(ErrorCode::Internal);
  if (request.client.head_written()) {
    request.client.abort();
  } else if (!request.client.gone()) {
    answer(request,
           render_error(fail(ErrorCode::Internal, "The gateway failed to process the request"),
                        InferenceRoute::Generate));
  }
}

// Neither this nor `proceed` is a coroutine: whoever runs behind them has a frame of its own.
net::Task<> RequestLifecycle::dispatch(Request& request) {
  const auto& head = request.client.head();
  Route route;
  route.inference = inference_route(head.path);
  if (!route.inference) route.admin = admin_.match(head.path);
  if (route.inference) {
    request.path_template = facts(*route.inference).path;
  } else if (route.admin) {
    request.path_template = route.admin->path_template;
    request.is_probe = route.admin->is_probe;
  }
  if (answer_preflight(request)) return net::completed();
  if (traces_.enabled()) begin_trace(request);
  control::Verdict verdict = guard_.check(head);
  if (verdict.wants_token_check) return judge_and_proceed(request, route);
  return proceed(request, route, verdict);
}

net::Task<> RequestLifecycle::judge_and_proceed(Request& request, Route route) {
  const control::Verdict verdict = co_await judge_token(request);
  co_await proceed(request, route, verdict);
}

net::Task<> RequestLifecycle::proceed(Request& request, const Route& route,
                                      const control::Verdict& verdict) {
  if (!is_admitted(request, verdict)) return net::completed();
  const auto method = request.client.head().method;
  if (route.inference) {
    if (refuse_early(request, "POST", method == Method::Post)) return net::completed();
    if (may_run_at_once(request)) return run_inference(request, *route.inference);
    return wait_and_run_inference(request, *route.inference);
  }
  if (route.admin) {
    if (refuse_early(request, route.admin->allow, admin_.allows(*route.admin, method))) {
      return net::completed();
    }
    return run_admin(request, *route.admin);
  }
  answer(request, {.status = 404});
  return net::completed();
}

/// Counts the request; a preflight needs no key.
bool RequestLifecycle::answer_preflight(Request& request) {
  const auto& head = request.client.head();
  if (request.path_template.empty()) return false;
  metrics_.count_http_request(http::name(head.method), request.path_template);
  if (!relay::is_preflight(head)) return false;
  const auto permission = cors_.permission(head);
  answer(request, {.status = 200}, permission.fields());
  return true;
}

net::Task<control::Verdict> RequestLifecycle::judge_token(Request& request) {
  auto& client = request.client;
  net::AbortSwitch left;
  client.on_gone([&left] { left.abort(); });
  control::Verdict verdict =
      co_await tokens_.judge(control::credential_of(client.head()), client.thread(), left);
  client.on_gone(nullptr);
  co_return verdict;
}

bool RequestLifecycle::is_admitted(Request& request, const control::Verdict& verdict) {
  request.hides_credential = verdict.hides_credential;
  if (request.client.gone()) return false;
  audit(request, verdict);
  if (!verdict.refusal) return true;
  http::Fields further;
  if (!verdict.challenge.empty()) further.push_back({"www-authenticate", verdict.challenge});
  answer(request, render_error(*verdict.refusal, InferenceRoute::Generate), further);
  return false;
}

void RequestLifecycle::audit(const Request& request, const control::Verdict& verdict) const {
  const auto& head = request.client.head();
  if (!config_.access.audit || control::route_class(head.path) != control::RouteClass::Control) {
    return;
  }
  const auto& [id, method, role] = verdict.principal;
  observability::write_audit(
      {.time = std::chrono::system_clock::now(),
       .principal = id,
       .auth_method = control::name_of(method),
       .role = role ? config::name_of(*role) : std::string_view{},
       .method = http::name(head.method),
       .path = head.path,
       .resource = request.path_template,
       .allowed = !verdict.refusal,
       .request_id = request.id.text,
       .details = verdict.refusal ? std::string_view(verdict.refusal->message) : ""});
}

/// Answers what needs no look at the body: wrong methods, announced lengths past the limit,
/// expectations that nobody can meet.
bool RequestLifecycle::refuse_early(Request& request, std::string_view allow, bool method_allowed) {
  const auto& head = request.client.head();
  if (!method_allowed) {
    answer(request, {.status = 405}, {{"allow", allow}});
    return true;
  }
  if (head.content_length.value_or(0) > config_.limits.max_payload_size) {
    answer(request, length_limit_exceeded());
    return true;
  }
  if (head.expects_unknown) {
    answer(request, {.status = 417});
    return true;
  }
  return false;
}

/// Whether an inference request is within the limit on how many run at once.
bool RequestLifecycle::may_run_at_once(Request& request) {
  if (!admission_.limited()) return true;
  request.permit = admission_.try_enter();
  return request.permit.held();
}

/// Waits for the permit to run; if it is not to be had, the client is told.
net::Task<> RequestLifecycle::wait_and_run_inference(Request& request, InferenceRoute route) {
  auto entered = co_await admission_.enter(request.client);
  if (entered) {
    request.permit = std::move(*entered);
    co_await run_inference(request, route);
  } else if (!request.client.gone()) {
    answer(request, render_error(entered.error(), route));
  }
}

net::Task<> RequestLifecycle::run_inference(Request& request, InferenceRoute route) {
  relay::RequestContext context{.client = request.client,
                                .route = route,
                                .request_id = request.id,
                                .started = request.started};
  context.cors = request.cors;
  context.hides_credential = request.hides_credential;
  context.trace = request.trace.get();
  context.head_goes_out = [this, &request](int status) { head_goes_out(request, status); };
  // A client that has its answer may come with the next request, or a scrape, before this one has
  // wound up here.
  request.relayed = &context;
  context.about_to_complete = [this, &request] {
    request.make_way();
    observe_success(request);
  };
  auto done = co_await relay_.run(context);
  request.worker_url = std::move(context.worker_url);
  request.streamed = context.path == relay::BodyPath::Streamed;
  std::optional<GatewayError> error;
  if (!done) error = done.error();
  if (request.trace) trace_relay(*request.trace, context, error);
  record_inference(request, error ? &*error : nullptr);
  if (error && !request.client.head_written() && !request.client.gone() &&
      error->code != ErrorCode::Aborted) {
    http::Fields further;
    if (row(error->code).fault == Fault::Worker && !request.worker_url.empty()) {
      further.push_back({"x-smg-routed-worker-id", request.worker_url});
    }
    answer(request, render_error(*error, route), further);
  }
}

void RequestLifecycle::record_inference(Request& request, const GatewayError* error) {
  // What was wrong before it was a request to anybody is in no router metric.
  if (!request.relayed->counted) return;
  const auto labels = request.relayed->labels();
  if (error != nullptr) {
    if (is_router_error(error->code)) metrics_.count_router_error(labels, error->error_type());
  } else if (request.status >= 500) {
    metrics_.count_router_error(labels, error_type_of(request.status));
  } else {
    observe_success(request);
  }
}

void RequestLifecycle::observe_success(Request& request) {
  if (request.status >= 400 || std::exchange(request.success_observed, true)) return;
  metrics_.observe_router_duration(request.relayed->labels(), Clock::now() - request.started);
}

net::Task<> RequestLifecycle::run_admin(Request& request, control::AdminRoute route) {
  auto& client = request.client;
  const auto& head = client.head();
  control::AdminRequest call{.method = head.method == Method::Head ? Method::Get : head.method,
                             .path = std::string(head.path),
                             .query = std::string(head.query),
                             .body = {},
                             .content_type = std::string(head.value("content-type")),
                             .authorization = {}};
  if (!request.hides_credential) call.authorization = head.value("authorization");
  while (route.takes_body && !client.body_ended()) {
    const auto scratch = client.thread().scratch();
    auto got = co_await client.read_body(scratch);
    if (!got) {
      if (!client.gone()) answer(request, render_error(got.error(), InferenceRoute::Generate));
      co_return;
    }
    call.body.append(scratch.data(), *got);
    const auto limit = config_.limits.max_payload_size;
    if (call.body.size() > limit || client.announced_bytes() > limit - call.body.size()) {
      answer(request,
             render_error(fail(ErrorCode::BodyTooLarge,
                               "Request body exceeded " + std::to_string(limit) + " bytes"),
                          InferenceRoute::Generate));
      co_return;
    }
  }
  net::AbortSwitch left;
  client.on_gone([&left] { left.abort(); });
  const control::AdminResponse reply =
      co_await admin_.handle(client.thread(), std::move(call), &left);
  client.on_gone(nullptr);
  http::Fields further;
  for (const auto& [name, value] : reply.fields) further.push_back({name, value});
  if (!client.gone()) {
    answer(request, {reply.status, reply.content_type, reply.body, reply.error_code, 0}, further);
    request.error_code = {};
  }
}

/// Probes are not traced, nor what is on no route.
void RequestLifecycle::begin_trace(Request& request) {
  if (request.path_template.empty() || request.is_probe) return;
  const auto& head = request.client.head();
  request.trace = start_trace(head, request.started);
  request.trace->method = http::name(head.method);
  request.trace->route = request.path_template;
  request.trace->scheme = config_.listen.tls_cert_path.empty() ? "http" : "https";
  request.trace->request_id = request.id.text;
}

void RequestLifecycle::end_trace(Request& request) noexcept {
  auto& trace = *request.trace;
  trace.ended = Clock::now();
  trace.bytes_received = request.client.bytes_received();
  trace.bytes_sent = request.client.bytes_sent();
  trace.outcome.status = request.status;
  if (trace.outcome.error.empty()) trace.outcome.error = request.error_code;
  if (trace.context.sampled()) traces_.submit(std::move(request.trace));
}

void RequestLifecycle::finish(Request& request) {
  if (request.trace) end_trace(request);
  const auto& head = request.client.head();
  if (!observability::log_enabled(observability::access_level(request.status, request.is_probe))) {
    return;
  }
  observability::write_access({.method = http::name(head.method),
                               .path = head.path,
                               .status = request.status,
                               .latency = std::chrono::duration_cast<std::chrono::microseconds>(
                                   Clock::now() - request.started),
                               .request_id = request.id.text,
                               .worker = request.worker_url,
                               .bytes_in = request.client.bytes_received(),
                               .bytes_out = request.client.bytes_sent(),
                               .streamed = request.streamed,
                               .http_version = version_text(head.version)},
                              request.is_probe);
}

}  // namespace smg::gateway
