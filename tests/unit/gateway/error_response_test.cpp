#include "gateway/error_response.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace smg::gateway {
namespace {

using enum InferenceRoute;

const std::vector<InferenceRoute> kOpenAi = {ChatCompletions, Completions, Messages, Responses};
const std::vector<InferenceRoute> kPlain = {Generate, Embeddings, Classify, RerankV1, Rerank};
constexpr std::string_view kText = "text/plain; charset=utf-8";

struct Shown {
  int status;
  std::string_view content_type;
  std::string_view body;
};

void expect_shown(const GatewayError& error, const std::vector<InferenceRoute>& routes,
                  const Shown& shown) {
  for (const auto route : routes) {
    const auto response = render_error(error, route);
    EXPECT_EQ(response.status, shown.status) << facts(route).path;
    EXPECT_EQ(response.content_type, shown.content_type) << facts(route).path;
    EXPECT_EQ(response.body, shown.body) << facts(route).path;
    EXPECT_EQ(response.error_code, "") << facts(route).path;
  }
}

TEST(RenderError, SyntaxErrors) {
  const GatewayError error{ErrorCode::JsonSyntax, "JSON syntax error: a \"quote\" at 7"};
  expect_shown(error, kOpenAi,
               {400, "application/json",
                R"({"error":{"message":"JSON syntax error: a \"quote\" at 7",)"
                R"("type":"invalid_request_error","code":"json_parse_error"}})"});
  expect_shown({ErrorCode::JsonSyntax, "Failed to parse the request body as JSON: x"}, kPlain,
               {400, kText, "Failed to parse the request body as JSON: x"});
}

TEST(RenderError, MissingFieldsAndWrongTypes) {
  expect_shown({ErrorCode::JsonData, "Invalid JSON data: missing field `model`"}, kOpenAi,
               {400, "application/json",
                R"({"error":{"message":"Invalid JSON data: missing field `model`",)"
                R"("type":"invalid_request_error","code":"json_parse_error"}})"});
  expect_shown({ErrorCode::JsonData, "Failed to deserialize", 422}, kPlain,
               {422, kText, "Failed to deserialize"});
}

TEST(RenderError, ValuesOutOfRange) {
  expect_shown({ErrorCode::JsonRange, "n: Validation error: x"}, kOpenAi,
               {400, "application/json",
                R"({"error":{"message":"n: Validation error: x",)"
                R"("type":"invalid_request_error","code":400}})"});
}

TEST(RenderError, WrongContentTypes) {
  const GatewayError error{ErrorCode::NotJson,
                           "Expected request with `Content-Type: application/json`"};
  expect_shown(error, kOpenAi,
               {400, "application/json",
                R"({"error":{"message":"Missing Content-Type: application/json header",)"
                R"("type":"invalid_request_error","code":"json_parse_error"}})"});
  expect_shown(error, kPlain,
               {415, kText, "Expected request with `Content-Type: application/json`"});
}

TEST(RenderError, BrokenChunks) {
  const GatewayError error{ErrorCode::BodyUnreadable, "Malformed chunked coding"};
  expect_shown(
      error, kOpenAi,
      {400, "application/json",
       R"({"error":{"message":"Failed to buffer the request body: Malformed chunked coding",)"
       R"("type":"invalid_request_error","code":"json_parse_error"}})"});
  expect_shown(error, kPlain,
               {400, kText, "Failed to buffer the request body: Malformed chunked coding"});
}

TEST(RenderError, RefusalsOfTheGuardAreText) {
  for (const auto& routes : {kOpenAi, kPlain}) {
    expect_shown({ErrorCode::Unauthorized, ""}, routes, {401, "", ""});
    expect_shown({ErrorCode::Unauthorized, "why"}, routes, {401, kText, "why"});
    expect_shown({ErrorCode::Forbidden, "why"}, routes, {403, kText, "why"});
    expect_shown({ErrorCode::NoTokenKeys, "why", 0, 10}, routes, {503, kText, "why"});
  }
  const auto later = render_error({ErrorCode::NoTokenKeys, "why", 0, 10}, Generate);
  EXPECT_EQ(later.retry_after_seconds, 10);
}

TEST(RenderError, AllOthersLookAlikeOnEveryRoute) {
  using enum ErrorCode;
  const struct {
    GatewayError error;
    int status;
    std::string_view code;
    std::string_view type;
  } cases[] = {
      {{BodyStalled, "m"}, 408, "request_body_stalled", "Request Timeout"},
      {{BodyAborted, "m"}, 400, "request_body_aborted", "Bad Request"},
      {{BodyTooLarge, "m"}, 413, "request_body_too_large", "Payload Too Large"},
      {{ContentCoding, "m"}, 415, "unsupported_content_encoding", "Unsupported Media Type"},
      {{ModelNotFound, "m"}, 404, "model_not_found", "Not Found"},
      {{InvalidTargetWorker, "m"}, 400, "invalid_target_worker", "Bad Request"},
      {{AdmissionQueueFull, "m"}, 429, "admission_queue_full", "Too Many Requests"},
      {{AdmissionQueueTimeout, "m"}, 503, "admission_queue_timeout", "Service Unavailable"},
      {{NoAvailableWorkers, "m"}, 503, "no_available_workers", "Service Unavailable"},
      {{NoWorkers, "m"}, 503, "no_workers", "Service Unavailable"},
      {{UpstreamConnect, "m"}, 502, "call_upstream_request_error", "Bad Gateway"},
      {{UpstreamTimeout, "m"}, 504, "call_upstream_timeout", "Gateway Timeout"},
      {{UpstreamBodyFailed, "m"}, 502, "read_response_body_failed", "Bad Gateway"},
      {{UpstreamBodyFailed, "m", 504}, 504, "read_response_body_failed", "Gateway Timeout"},
      {{UpstreamResponseTooLarge, "m"}, 502, "upstream_response_too_large", "Bad Gateway"},
      {{LocalResources, "m"}, 503, "local_resources_exhausted", "Service Unavailable"},
      {{Internal, "m"}, 500, "internal_error", "Internal Server Error"},
  };
  for (const auto& c : cases) {
    for (std::size_t i = 0; i < kInferenceRouteCount; ++i) {
      const auto response = render_error(c.error, static_cast<InferenceRoute>(i));
      EXPECT_EQ(response.status, c.status) << c.code;
      EXPECT_EQ(response.content_type, "application/json") << c.code;
      EXPECT_EQ(response.error_code, c.code);
      EXPECT_EQ(response.retry_after_seconds, 0);
      EXPECT_EQ(response.body, R"({"error":{"type":")" + std::string(c.type) + R"(","code":")" +
                                   std::string(c.code) + R"(","message":"m","param":null}})");
    }
  }
}

TEST(RenderError, MessagesAreEscaped) {
  const auto response = render_error(
      {ErrorCode::ModelNotFound, "No worker available for model 'a\"b\\\n\x01'"}, Generate);
  EXPECT_EQ(response.body,
            R"({"error":{"type":"Not Found","code":"model_not_found",)"
            R"("message":"No worker available for model 'a\"b\\\n\u0001'","param":null}})");
}

TEST(RenderError, RetryAfterIsHandedOn) {
  GatewayError error{ErrorCode::NoAvailableWorkers, "m"};
  error.retry_after_seconds = 17;
  EXPECT_EQ(render_error(error, ChatCompletions).retry_after_seconds, 17);
}

TEST(RenderError, AnAnnouncedLengthPastTheLimitIsPlainText) {
  const auto response = length_limit_exceeded();
  EXPECT_EQ(response.status, 413);
  EXPECT_EQ(response.content_type, kText);
  EXPECT_EQ(response.body, "length limit exceeded");
  EXPECT_EQ(response.error_code, "");
}

}  // namespace
}  // namespace smg::gateway
