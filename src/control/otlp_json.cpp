#include "control/otlp_json.hpp"

#include "control/json_writer.hpp"

namespace smg::control {
namespace {

using observability::AttemptSpan;
using observability::RequestTrace;
using observability::SpanOutcome;
using std::string_view;

// Values of the protocol's enumerations.
constexpr int kServer = 2;
constexpr int kClient = 3;
constexpr int kStatusError = 2;

/// 64-bit numbers are strings in the JSON of protocol buffers.
std::string decimal(auto number) {
  return std::to_string(number);
}

template <class Id>
std::string hex(Id id) {
  std::string text;
  observability::append_hex(text, id);
  return text;
}

string_view version_text(int version) noexcept {
  if (version == 20) return "2";
  return version == 10 ? "1.0" : "1.1";
}

void attribute(JsonWriter& json, string_view key, string_view text) {
  if (text.empty()) return;
  json.begin_object().field("key", key).key("value");
  json.begin_object().field("stringValue", text).end_object().end_object();
}

void number(JsonWriter& json, string_view key, std::uint64_t value) {
  json.begin_object().field("key", key).key("value");
  json.begin_object().field("intValue", decimal(value)).end_object().end_object();
}

/// The span's own fields, and the opening of its attributes.
struct SpanHead {
  observability::SpanId id;
  observability::SpanId parent;
  string_view name;
  int kind;
  std::chrono::steady_clock::time_point began;
  std::chrono::steady_clock::time_point ended;
};

void begin_span(JsonWriter& json, const RequestTrace& trace, const SpanHead& head) {
  const auto nanoseconds = [&trace](std::chrono::steady_clock::time_point point) {
    const auto since = trace.wall_time(point).time_since_epoch();
    return decimal(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
  };
  json.begin_object().field("traceId", hex(trace.context.trace)).field("spanId", hex(head.id));
  if (head.parent != 0) json.field("parentSpanId", hex(head.parent));
  if (!trace.tracestate.empty()) json.field("traceState", trace.tracestate);
  json.field("name", head.name).field("kind", head.kind);
  json.field("startTimeUnixNano", nanoseconds(head.began));
  json.field("endTimeUnixNano", nanoseconds(head.ended));
  json.key("attributes").begin_array();
}

/// The attributes of the outcome, the end of the attributes, and the span's status. Statuses from
/// `first_error` on are errors.
void end_span(JsonWriter& json, const SpanOutcome& outcome, int first_error) {
  const bool is_error = outcome.failed || outcome.status >= first_error;
  if (outcome.status > 0) {
    number(json, "http.response.status_code", static_cast<std::uint64_t>(outcome.status));
  }
  attribute(json, "smg.error_code", outcome.error);
  if (is_error) {
    attribute(json, "error.type",
              outcome.error.empty() ? decimal(outcome.status) : std::string(outcome.error));
  }
  json.end_array();
  if (is_error) json.key("status").begin_object().field("code", kStatusError).end_object();
  json.end_object();
}

void write_request(JsonWriter& json, const RequestTrace& trace, string_view name) {
  begin_span(json, trace,
             {trace.context.span, trace.parent, name, kServer, trace.began, trace.ended});
  attribute(json, "http.request.method", trace.method);
  attribute(json, "http.route", trace.route);
  attribute(json, "url.path", trace.path);
  attribute(json, "url.scheme", trace.scheme);
  attribute(json, "network.protocol.version", version_text(trace.http_version));
  number(json, "http.request.body.size", trace.bytes_received);
  number(json, "http.response.body.size", trace.bytes_sent);
  attribute(json, "smg.request_id", trace.request_id);
  attribute(json, "smg.model", trace.model);
  attribute(json, "smg.body_path", trace.body_path);
  end_span(json, trace.outcome, 500);
}

void write_attempt(JsonWriter& json, const RequestTrace& trace, const AttemptSpan& attempt,
                   string_view name) {
  begin_span(json, trace,
             {attempt.id, trace.context.span, name, kClient, attempt.began, attempt.ended});
  attribute(json, "http.request.method", trace.method);
  // A data-parallel rank is no part of an address.
  const auto base = string_view(attempt.worker_url).substr(0, attempt.worker_url.find('@'));
  attribute(json, "url.full", std::string(base) + std::string(trace.route));
  attribute(json, "server.address", attempt.host);
  number(json, "server.port", attempt.port);
  attribute(json, "smg.worker.url", attempt.worker_url);
  if (attempt.resends > 0) number(json, "http.request.resend_count", attempt.resends);
  end_span(json, attempt.outcome, 400);
}

}  // namespace

std::string encode_otlp(std::span<const observability::RequestTracePtr> traces,
                        string_view version) {
  JsonWriter json;
  json.begin_object().key("resourceSpans").begin_array().begin_object();
  json.key("resource").begin_object().key("attributes").begin_array();
  attribute(json, "service.name", "smg");
  attribute(json, "service.version", version);
  json.end_array().end_object();
  json.key("scopeSpans").begin_array().begin_object();
  json.key("scope").begin_object().field("name", "smg").field("version", version).end_object();
  json.key("spans").begin_array();
  for (const auto& trace : traces) {
    const std::string name = std::string(trace->method) + " " + std::string(trace->route);
    write_request(json, *trace, name);
    for (const auto& attempt : trace->attempts) write_attempt(json, *trace, attempt, name);
  }
  json.end_array().end_object().end_array();
  json.end_object().end_array().end_object();
  return json.take();
}

}  // namespace smg::control
