#include "control/otlp_json.hpp"

#include <gtest/gtest.h>

namespace smg::control {
namespace {

using namespace std::chrono_literals;
using observability::AttemptSpan;
using observability::RequestTrace;
using observability::RequestTracePtr;

const std::string kParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

RequestTracePtr make_trace(std::string_view parent = kParent, const std::string& state = {}) {
  const auto started = std::chrono::steady_clock::time_point(1h);
  auto trace = std::make_unique<RequestTrace>(parent, state, started);
  trace->wall_began = std::chrono::system_clock::time_point(1700000000s);
  trace->ended = started + 1234567ns;
  trace->context.span = 0xAB;
  trace->method = "POST";
  trace->route = "/v1/chat/completions";
  trace->path = "/v1/chat/completions";
  trace->scheme = "http";
  trace->request_id = "a\"b";
  trace->outcome.status = 200;
  return trace;
}

AttemptSpan& add_attempt(RequestTrace& trace, int status) {
  AttemptSpan attempt{.id = 0xCD, .worker_url = "http://w:1", .host = "w", .port = 1};
  attempt.began = trace.began + 1us;
  attempt.ended = trace.began + 2us;
  attempt.outcome.status = status;
  trace.attempts.push_back(std::move(attempt));
  return trace.attempts.back();
}

std::string encoded(RequestTracePtr trace) {
  std::vector<RequestTracePtr> traces;
  traces.push_back(std::move(trace));
  return encode_otlp(traces, "1.2");
}

/// The text of one span of a document.
std::string span_at(const std::string& document, std::size_t index) {
  constexpr std::string_view kStart = R"({"traceId")";
  std::size_t start = document.find(kStart);
  for (; index > 0; --index) start = document.find(kStart, start + 1);
  if (start == std::string::npos) return {};
  return document.substr(start, document.find(kStart, start + 1) - start);
}

/// The value of an attribute, as it stands in a span's text; empty: there is none.
std::string attribute(const std::string& span, const std::string& key) {
  const std::string before = R"({"key":")" + key + R"(","value":)";
  const auto at = span.find(before);
  if (at == std::string::npos) return {};
  const auto start = at + before.size();
  return span.substr(start, span.find('}', start) + 1 - start);
}

std::string text(std::string_view value) {
  return R"({"stringValue":")" + std::string(value) + R"("})";
}

std::string number(std::string_view value) {
  return R"({"intValue":")" + std::string(value) + R"("})";
}

bool has(const std::string& span, std::string_view part) {
  return span.find(part) != std::string::npos;
}

constexpr std::string_view kErrorStatus = R"(],"status":{"code":2}})";

TEST(OtlpJson, IsAnExportRequest) {
  EXPECT_EQ(encoded(make_trace()),
            R"({"resourceSpans":[{"resource":{"attributes":[)"
            R"({"key":"service.name","value":{"stringValue":"smg"}},)"
            R"({"key":"service.version","value":{"stringValue":"1.2"}}]},)"
            R"("scopeSpans":[{"scope":{"name":"smg","version":"1.2"},"spans":[)"
            R"({"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"00000000000000ab",)"
            R"("parentSpanId":"00f067aa0ba902b7","name":"POST /v1/chat/completions","kind":2,)"
            R"("startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000000001234567",)"
            R"("attributes":[{"key":"http.request.method","value":{"stringValue":"POST"}},)"
            R"({"key":"http.route","value":{"stringValue":"/v1/chat/completions"}},)"
            R"({"key":"url.path","value":{"stringValue":"/v1/chat/completions"}},)"
            R"({"key":"url.scheme","value":{"stringValue":"http"}},)"
            R"({"key":"network.protocol.version","value":{"stringValue":"1.1"}},)"
            R"({"key":"http.request.body.size","value":{"intValue":"0"}},)"
            R"({"key":"http.response.body.size","value":{"intValue":"0"}},)"
            R"({"key":"smg.request_id","value":{"stringValue":"a\"b"}},)"
            R"({"key":"http.response.status_code","value":{"intValue":"200"}}]}]}]}]})");
}

TEST(OtlpJson, TellsOfAttemptsAsChildren) {
  auto trace = make_trace(kParent, "a=b");
  trace->http_version = 20;
  trace->model = "m";
  trace->body_path = "buffered";
  add_attempt(*trace, 0).outcome.fail_with(ErrorCode::UpstreamConnect);
  auto& second = add_attempt(*trace, 200);
  second.worker_url = "https://v@3";
  second.resends = 1;
  const std::string document = encoded(std::move(trace));

  const auto request = span_at(document, 0);
  EXPECT_EQ(attribute(request, "network.protocol.version"), text("2"));
  EXPECT_EQ(attribute(request, "smg.model"), text("m"));
  EXPECT_EQ(attribute(request, "smg.body_path"), text("buffered"));
  EXPECT_TRUE(has(request, R"("traceState":"a=b")")) << request;

  const auto failed = span_at(document, 1);
  EXPECT_TRUE(failed.starts_with(
      R"({"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"00000000000000cd",)"
      R"("parentSpanId":"00000000000000ab","traceState":"a=b",)"
      R"("name":"POST /v1/chat/completions","kind":3,)"
      R"("startTimeUnixNano":"1700000000000001000","endTimeUnixNano":"1700000000000002000",)"))
      << failed;
  EXPECT_EQ(attribute(failed, "url.full"), text("http://w:1/v1/chat/completions"));
  EXPECT_EQ(attribute(failed, "server.address"), text("w"));
  EXPECT_EQ(attribute(failed, "server.port"), number("1"));
  EXPECT_EQ(attribute(failed, "smg.worker.url"), text("http://w:1"));
  EXPECT_EQ(attribute(failed, "smg.error_code"), text("call_upstream_request_error"));
  EXPECT_EQ(attribute(failed, "error.type"), text("call_upstream_request_error"));
  EXPECT_TRUE(has(failed, kErrorStatus)) << failed;
  EXPECT_EQ(attribute(failed, "http.response.status_code"), "");
  EXPECT_EQ(attribute(failed, "http.request.resend_count"), "");

  const auto answered = span_at(document, 2);
  EXPECT_EQ(attribute(answered, "url.full"), text("https://v/v1/chat/completions"));
  EXPECT_EQ(attribute(answered, "smg.worker.url"), text("https://v@3"));
  EXPECT_EQ(attribute(answered, "http.request.resend_count"), number("1"));
  EXPECT_EQ(attribute(answered, "http.response.status_code"), number("200"));
  EXPECT_FALSE(has(answered, kErrorStatus)) << answered;
}

TEST(OtlpJson, ATraceOfOurOwnHasNoParent) {
  const auto request = span_at(encoded(make_trace("")), 0);
  EXPECT_FALSE(has(request, "parentSpanId")) << request;
  EXPECT_FALSE(has(request, "traceState")) << request;
}

TEST(OtlpJson, TellsErrorsByTheConventions) {
  const struct {
    int status;
    ErrorCode code;  ///< Internal: none
    std::string_view request_error;
    std::string_view attempt_error;
  } cases[] = {
      {200, ErrorCode::Internal, "", ""},
      {404, ErrorCode::Internal, "", "404"},
      {500, ErrorCode::Internal, "500", "500"},
      {408, ErrorCode::BodyStalled, "", "request_body_stalled"},
      {0, ErrorCode::ClientGone, "", ""},
      {200, ErrorCode::UpstreamBodyFailed, "read_response_body_failed",
       "read_response_body_failed"},
      {503, ErrorCode::NoAvailableWorkers, "no_available_workers", "no_available_workers"},
  };
  for (const auto& test : cases) {
    auto trace = make_trace();
    trace->outcome.status = test.status;
    if (test.code != ErrorCode::Internal) trace->outcome.fail_with(test.code);
    add_attempt(*trace, 0).outcome = trace->outcome;
    const std::string document = encoded(std::move(trace));
    const std::pair<std::size_t, std::string_view> kErrors[] = {{0, test.request_error},
                                                                {1, test.attempt_error}};
    for (const auto& [index, error] : kErrors) {
      const auto span = span_at(document, index);
      EXPECT_EQ(attribute(span, "error.type"), error.empty() ? "" : text(error)) << span;
      EXPECT_EQ(has(span, kErrorStatus), !error.empty()) << span;
    }
  }
}

TEST(OtlpJson, HoldsManyRequests) {
  std::vector<RequestTracePtr> traces;
  for (int i = 0; i < 3; ++i) traces.push_back(make_trace());
  const std::string document = encode_otlp(traces, "1");
  for (const std::size_t index : {0U, 1U, 2U}) EXPECT_NE(span_at(document, index), "");
  EXPECT_EQ(span_at(document, 3), "");
  EXPECT_TRUE(has(encode_otlp({}, "1"), R"("spans":[]}]}]})"));
}

}  // namespace
}  // namespace smg::control
