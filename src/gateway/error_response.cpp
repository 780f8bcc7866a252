#include "gateway/error_response.hpp"

#include <smg/base/text.hpp>
#include <smg/http/message.hpp>

namespace smg::gateway {
namespace {

constexpr std::string_view kJson = "application/json";
constexpr std::string_view kText = "text/plain; charset=utf-8";

/// An error about the request body, as the OpenAI API words it. `code` is JSON: a string or a
/// number.
PlainResponse openai_body_error(int status, std::string_view message, std::string_view code) {
  PlainResponse response{status, std::string(kJson), {}, {}, 0};
  response.body = R"({"error":{"message":)" + text::json_quoted(message) +
                  R"(,"type":"invalid_request_error","code":)" + std::string(code) + "}}";
  return response;
}

PlainResponse gateway_error(const GatewayError& error) {
  const std::string_view code = row(error.code).wire_code;
  PlainResponse response{error.status(), std::string(kJson), {}, code, error.retry_after_seconds};
  response.body = R"({"error":{"type":)" + text::json_quoted(http::reason_phrase(error.status())) +
                  R"(,"code":)" + text::json_quoted(code) + R"(,"message":)" +
                  text::json_quoted(error.message) + R"(,"param":null}})";
  return response;
}

}  // namespace

PlainResponse render_error(const GatewayError& error, InferenceRoute route) {
  const bool openai = facts(route).openai_errors;
  constexpr std::string_view kParseError = R"("json_parse_error")";
  switch (error.code) {
    case ErrorCode::JsonRange:
      if (openai) return openai_body_error(error.status(), error.message, "400");
      break;
    case ErrorCode::JsonSyntax:
    case ErrorCode::JsonData:
      if (openai) return openai_body_error(error.status(), error.message, kParseError);
      break;
    case ErrorCode::BodyUnreadable:
      if (openai) {
        return openai_body_error(400, "Failed to buffer the request body: " + error.message,
                                 kParseError);
      }
      return {
          400, std::string(kText), "Failed to buffer the request body: " + error.message, {}, 0};
    case ErrorCode::NotJson:
      if (openai) {
        return openai_body_error(400, "Missing Content-Type: application/json header", kParseError);
      }
      break;
    case ErrorCode::Unauthorized:
    case ErrorCode::Forbidden:
    case ErrorCode::NoTokenKeys:
      if (error.message.empty()) return {.status = error.status()};
      break;
    default: return gateway_error(error);
  }
  return {error.status(), std::string(kText), error.message, {}, error.retry_after_seconds};
}

PlainResponse length_limit_exceeded() {
  return {413, std::string(kText), "length limit exceeded", {}, 0};
}

}  // namespace smg::gateway
