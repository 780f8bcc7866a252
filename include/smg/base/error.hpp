#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace smg {

/// Every way in which the gateway itself can fail a request. What a client, a metric, the retry
/// rule and a circuit breaker make of each is in one table, `row()`.
enum class ErrorCode : std::uint8_t {
  // The client's fault.
  BadRequest,           ///< framing or a head that cannot be read (RFC 9112)
  BodyStalled,          ///< no body bytes for --stream-body-stall-timeout-secs
  BodyAborted,          ///< the upload ended before its announced end
  BodyTooLarge,         ///< the body grew past --max-payload-size
  BodyUnreadable,       ///< malformed chunked coding
  JsonSyntax,           ///< the body is not one valid JSON document
  JsonData,             ///< a required field is missing or a field has the wrong type
  JsonRange,            ///< a value is out of its range
  NotJson,              ///< Content-Type does not say JSON
  ContentCoding,        ///< a buffered body with a Content-Encoding other than identity
  Unauthorized,         ///< no credential, or not the right one
  Forbidden,            ///< a credential that is known and does not suffice
  MissingModel,         ///< the body names no model where the model chooses the workers
  ModelNotFound,        ///< no worker serves the model
  InvalidTargetWorker,  ///< x-smg-target-worker names no worker
  // More requests than --max-concurrent-requests.
  AdmissionQueueFull,     ///< and no place to wait
  AdmissionQueueTimeout,  ///< and none of them ended in --queue-timeout-secs
  // The fleet's state.
  NoAvailableWorkers,  ///< workers exist, but none may be selected now
  WorkersOverloaded,   ///< all that may be selected report too much load
  NoWorkers,           ///< a proxied endpoint with nobody to ask
  // A worker's fault.
  UpstreamConnect,           ///< refused, reset, closed or not HTTP before a response
  UpstreamTimeout,           ///< no response in time
  UpstreamBodyFailed,        ///< the response broke off while it was read whole
  UpstreamResponseTooLarge,  ///< the response is larger than --max-payload-size
  // A worker's fault, where two share a request.
  PrefillBadRequest,
  PrefillNotFound,
  PrefillInternalError,
  PrefillBadGateway,
  PrefillUnavailable,
  PrefillError,          ///< any other status of a prefill worker, kept as it is
  PrefillUpstreamError,  ///< any status of a prefill worker of vLLM, kept as it is
  PrefillRequestFailed,  ///< no response of the prefill worker
  PrefillReadFailed,     ///< its response broke off
  DecodeBadRequest,
  DecodeNotFound,
  DecodeInternalError,
  DecodeBadGateway,
  DecodeUnavailable,
  DecodeError,          ///< any other status of a decode worker, kept as it is
  DecodeRequestFailed,  ///< no response of the decode worker
  // Ours.
  UnsupportedRoute,  ///< a route that the mode cannot serve
  LocalResources,    ///< out of descriptors or ports; never charged to a worker
  NoTokenKeys,       ///< a token cannot be judged: its issuer's keys cannot be had
  ClientGone,        ///< nobody is left to answer
  Aborted,           ///< cut off by shutdown
  Internal,
};

/// Whose fault an error is, and so what a circuit breaker and the retry rule make of it.
enum class Fault : std::uint8_t { Client, Fleet, Worker, Gateway };

/// What the rest of the program needs to know about an ErrorCode.
struct ErrorRow {
  int status;                  ///< HTTP status towards the client
  std::string_view wire_code;  ///< `error.code` and X-SMG-Error-Code; empty: neither is sent
  Fault fault;
  std::string_view error_type;  ///< label of smg_router_request_errors_total, at this status
};

/// The table row of a code. Defined for every enumerator.
[[nodiscard]] const ErrorRow& row(ErrorCode code) noexcept;

/// What smg_router_request_errors_total says of a request that ended with this status.
[[nodiscard]] std::string_view error_type_of(int status) noexcept;

/// An error on its way from where it arises to where it is rendered. `message` is shown to clients:
/// it names a worker by its id or URL without user info, and never holds body text or credentials.
struct GatewayError {
  ErrorCode code = ErrorCode::Internal;
  std::string message;
  /// Overrides the table's status: a timeout while a response was read is 504, not 502.
  int status_override = 0;
  /// Whole seconds for a Retry-After field; 0: none.
  int retry_after_seconds = 0;

  [[nodiscard]] int status() const noexcept {
    return status_override != 0 ? status_override : row(code).status;
  }

  /// Of the status that the client gets, where it is not the table's.
  [[nodiscard]] std::string_view error_type() const noexcept {
    return status_override != 0 ? error_type_of(status_override) : row(code).error_type;
  }
};

}  // namespace smg
