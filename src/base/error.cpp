#include <smg/base/error.hpp>

namespace smg {
namespace {

using enum ErrorCode;

struct Entry {
  ErrorCode code;
  ErrorRow row;
};

// What smg_router_request_errors_total says of most.
constexpr std::string_view kInvalid = "validation_error";
constexpr std::string_view kNobody = "no_workers";
constexpr std::string_view kLate = "timeout";
constexpr std::string_view kBackend = "backend_error";
constexpr std::string_view kOurs = "internal_error";

/// One entry for each code, in their order.
constexpr Entry kTable[] = {
    {BadRequest, {400, "", Fault::Client, kInvalid}},
    {BodyStalled, {408, "request_body_stalled", Fault::Client, kLate}},
    {BodyAborted, {400, "request_body_aborted", Fault::Client, kInvalid}},
    {BodyTooLarge, {413, "request_body_too_large", Fault::Client, kInvalid}},
    {BodyUnreadable, {400, "", Fault::Client, kInvalid}},
    {JsonSyntax, {400, "", Fault::Client, kInvalid}},
    {JsonData, {400, "", Fault::Client, kInvalid}},
    {JsonRange, {400, "", Fault::Client, kInvalid}},
    {NotJson, {415, "", Fault::Client, kInvalid}},
    {ContentCoding, {415, "unsupported_content_encoding", Fault::Client, kInvalid}},
    {Unauthorized, {401, "", Fault::Client, kInvalid}},
    {Forbidden, {403, "", Fault::Client, kInvalid}},
    {MissingModel, {400, "missing_model", Fault::Client, kInvalid}},
    {ModelNotFound, {404, "model_not_found", Fault::Fleet, kNobody}},
    {InvalidTargetWorker, {400, "invalid_target_worker", Fault::Client, kInvalid}},
    {AdmissionQueueFull, {429, "admission_queue_full", Fault::Gateway, kOurs}},
    {AdmissionQueueTimeout, {503, "admission_queue_timeout", Fault::Gateway, kOurs}},
    {NoAvailableWorkers, {503, "no_available_workers", Fault::Fleet, kNobody}},
    {WorkersOverloaded, {503, "worker_overload_protection_shed", Fault::Fleet, kNobody}},
    {NoWorkers, {503, "no_workers", Fault::Fleet, kNobody}},
    {UpstreamConnect, {502, "call_upstream_request_error", Fault::Worker, kBackend}},
    {UpstreamTimeout, {504, "call_upstream_timeout", Fault::Worker, kLate}},
    {UpstreamBodyFailed, {502, "read_response_body_failed", Fault::Worker, kBackend}},
    {UpstreamResponseTooLarge, {502, "upstream_response_too_large", Fault::Worker, kBackend}},
    {PrefillBadRequest, {400, "prefill_bad_request", Fault::Client, kInvalid}},
    {PrefillNotFound, {404, "prefill_not_found", Fault::Client, kNobody}},
    {PrefillInternalError, {500, "prefill_internal_error", Fault::Worker, kBackend}},
    {PrefillBadGateway, {502, "prefill_bad_gateway", Fault::Worker, kBackend}},
    {PrefillUnavailable, {503, "prefill_unavailable", Fault::Worker, kBackend}},
    {PrefillError, {502, "prefill_error", Fault::Worker, kBackend}},
    {PrefillUpstreamError, {502, "prefill_upstream_error", Fault::Worker, kBackend}},
    {PrefillRequestFailed, {502, "prefill_request_failed", Fault::Worker, kBackend}},
    {PrefillReadFailed, {502, "prefill_read_failed", Fault::Worker, kBackend}},
    {DecodeBadRequest, {400, "decode_bad_request", Fault::Client, kInvalid}},
    {DecodeNotFound, {404, "decode_not_found", Fault::Client, kNobody}},
    {DecodeInternalError, {500, "decode_internal_error", Fault::Worker, kBackend}},
    {DecodeBadGateway, {502, "decode_bad_gateway", Fault::Worker, kBackend}},
    {DecodeUnavailable, {503, "decode_unavailable", Fault::Worker, kBackend}},
    {DecodeError, {502, "decode_error", Fault::Worker, kBackend}},
    {DecodeRequestFailed, {502, "decode_request_failed", Fault::Worker, kBackend}},
    {UnsupportedRoute, {501, "not_implemented", Fault::Gateway, kOurs}},
    {LocalResources, {503, "local_resources_exhausted", Fault::Gateway, kOurs}},
    {NoTokenKeys, {503, "", Fault::Gateway, kOurs}},
    {ClientGone, {499, "", Fault::Client, "client_disconnected"}},
    {Aborted, {503, "", Fault::Gateway, kOurs}},
    {Internal, {500, "internal_error", Fault::Gateway, kOurs}},
};

consteval bool in_order() {
  std::size_t position = 0;
  for (const Entry& entry : kTable) {
    if (static_cast<std::size_t>(entry.code) != position++) return false;
  }
  return position == static_cast<std::size_t>(Internal) + 1;
}
static_assert(in_order(), "the table's entries stand at their codes");

}  // namespace

const ErrorRow& row(ErrorCode code) noexcept {
  return kTable[static_cast<std::size_t>(code)].row;
}

// The spec, router modes section 0.
std::string_view error_type_of(int status) noexcept {
  switch (status) {
    case 400: return kInvalid;
    case 404: return kNobody;
    case 408:
    case 504: return kLate;
    default: return status >= 500 ? kBackend : kOurs;
  }
}

}  // namespace smg
