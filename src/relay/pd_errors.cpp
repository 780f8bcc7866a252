#include "relay/pd_errors.hpp"

#include <algorithm>

#include <simdjson.h>

#include <smg/base/result.hpp>
#include <smg/base/text.hpp>
#include <smg/http/message.hpp>

namespace smg::relay::pd {
namespace {

using routing::WorkerRole;

/// No Retry-After is believed beyond an hour.
constexpr std::uint64_t kLongestWait = 3600;

struct StatusCode {
  int status;
  ErrorCode prefill;
  ErrorCode decode;
};

constexpr StatusCode kCodes[] = {
    {400, ErrorCode::PrefillBadRequest, ErrorCode::DecodeBadRequest},
    {404, ErrorCode::PrefillNotFound, ErrorCode::DecodeNotFound},
    {500, ErrorCode::PrefillInternalError, ErrorCode::DecodeInternalError},
    {502, ErrorCode::PrefillBadGateway, ErrorCode::DecodeBadGateway},
    {503, ErrorCode::PrefillUnavailable, ErrorCode::DecodeUnavailable},
};

ErrorCode code_of(int status, WorkerRole role) noexcept {
  const bool prefill = role == WorkerRole::Prefill;
  for (const StatusCode& row : kCodes) {
    if (row.status == status) return prefill ? row.prefill : row.decode;
  }
  return prefill ? ErrorCode::PrefillError : ErrorCode::DecodeError;
}

GatewayError error_of(ErrorCode code, const FailedAnswer& answer, std::string message) {
  GatewayError error = fail(code, std::move(message));
  // A redirect or an informational status means nothing to a client who does not get its head.
  if (answer.status >= 400) error.status_override = answer.status;
  const auto seconds = text::parse_decimal(text::trim(answer.retry_after));
  if (seconds) error.retry_after_seconds = static_cast<int>(std::min(*seconds, kLongestWait));
  return error;
}

/// A text that may have been cut within a character, without the piece of it.
std::string_view readable(std::string_view body) noexcept {
  for (int dropped = 0; dropped < 4 && !body.empty(); ++dropped) {
    if (simdjson::validate_utf8(body.data(), body.size())) return body;
    body.remove_suffix(1);
  }
  return body.empty() ? body : std::string_view("an answer that is no text");
}

std::string prefill_message(const FailedAnswer& answer) {
  std::string message = "Prefill server error (" + std::to_string(answer.status);
  const std::string_view phrase = http::reason_phrase(answer.status);
  if (!phrase.empty()) message.append(" ").append(phrase);
  return message.append("): ").append(readable(answer.body));
}

/// The text that a JSON error holds; all of it where there is none to be found.
std::string decode_message(std::string_view body) {
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  if (parser.parse(simdjson::padded_string(body)).get(document)) return std::string(readable(body));
  std::string_view message;
  if (!document["error"]["message"].get(message) || !document["message"].get(message)) {
    return std::string(message);
  }
  return std::string(readable(body));
}

}  // namespace

GatewayError prefill_error(const FailedAnswer& answer) {
  return error_of(code_of(answer.status, WorkerRole::Prefill), answer, prefill_message(answer));
}

GatewayError prefill_upstream_error(const FailedAnswer& answer) {
  return error_of(ErrorCode::PrefillUpstreamError, answer, prefill_message(answer));
}

GatewayError decode_error(const FailedAnswer& answer) {
  return error_of(code_of(answer.status, WorkerRole::Decode), answer, decode_message(answer.body));
}

GatewayError transport_error(WorkerRole role, const GatewayError& error) {
  const bool prefill = role == WorkerRole::Prefill;
  GatewayError renamed = error;
  if (error.code == ErrorCode::UpstreamConnect) {
    renamed.code = prefill ? ErrorCode::PrefillRequestFailed : ErrorCode::DecodeRequestFailed;
  } else if (error.code == ErrorCode::UpstreamBodyFailed && prefill) {
    renamed.code = ErrorCode::PrefillReadFailed;
  } else if (error.code != ErrorCode::UpstreamTimeout) {
    return renamed;
  }
  renamed.message = (prefill ? "Prefill worker: " : "Decode worker: ") + error.message;
  return renamed;
}

std::string error_event(const FailedAnswer& answer) {
  simdjson::dom::parser parser;
  simdjson::dom::element document;
  const bool is_json = !parser.parse(simdjson::padded_string(answer.body)).get(document);
  // Minified: an event is one line.
  const std::string message =
      is_json ? simdjson::minify(document) : text::json_quoted(readable(answer.body));
  return R"(data: {"error":{"message":)" + message + R"(,"status":)" +
         std::to_string(answer.status) + "}}\n\n";
}

}  // namespace smg::relay::pd
