#include <smg/base/error.hpp>

namespace smg {

namespace {

/// The codes of the two workers that share a request (router modes, section 1c).
const ErrorRow* pd_row(ErrorCode code) noexcept {
  struct PdRow {
    ErrorCode code;
    ErrorRow row;
  };
  using enum ErrorCode;
  constexpr std::string_view kBad = "validation_error";
  constexpr std::string_view kBackend = "backend_error";
  static constexpr PdRow kRows[] = {
      {PrefillBadRequest, {400, "prefill_bad_request", Fault::Client, kBad}},
      {PrefillNotFound, {404, "prefill_not_found", Fault::Client, "no_workers"}},
      {PrefillInternalError, {500, "prefill_internal_error", Fault::Worker, kBackend}},
      {PrefillBadGateway, {502, "prefill_bad_gateway", Fault::Worker, kBackend}},
      {PrefillUnavailable, {503, "prefill_unavailable", Fault::Worker, kBackend}},
      {PrefillError, {502, "prefill_error", Fault::Worker, kBackend}},
      {PrefillUpstreamError, {502, "prefill_upstream_error", Fault::Worker, kBackend}},
      {PrefillRequestFailed, {502, "prefill_request_failed", Fault::Worker, kBackend}},
      {PrefillReadFailed, {502, "prefill_read_failed", Fault::Worker, kBackend}},
      {DecodeBadRequest, {400, "decode_bad_request", Fault::Client, kBad}},
      {DecodeNotFound, {404, "decode_not_found", Fault::Client, "no_workers"}},
      {DecodeInternalError, {500, "decode_internal_error", Fault::Worker, kBackend}},
      {DecodeBadGateway, {502, "decode_bad_gateway", Fault::Worker, kBackend}},
      {DecodeUnavailable, {503, "decode_unavailable", Fault::Worker, kBackend}},
      {DecodeError, {502, "decode_error", Fault::Worker, kBackend}},
      {DecodeRequestFailed, {502, "decode_request_failed", Fault::Worker, kBackend}},
  };
  for (const PdRow& one : kRows) {
    if (one.code == code) return &one.row;
  }
  return nullptr;
}

}  // namespace

const ErrorRow& row(ErrorCode code) noexcept {
  static constexpr ErrorRow kBadRequest{400, "", Fault::Client, "validation_error"};
  static constexpr ErrorRow kBodyStalled{408, "request_body_stalled", Fault::Client, "timeout"};
  static constexpr ErrorRow kBodyAborted{400, "request_body_aborted", Fault::Client,
                                         "validation_error"};
  static constexpr ErrorRow kBodyTooLarge{413, "request_body_too_large", Fault::Client,
                                          "validation_error"};
  static constexpr ErrorRow kNotJson{415, "", Fault::Client, "validation_error"};
  static constexpr ErrorRow kContentCoding{415, "unsupported_content_encoding", Fault::Client,
                                           "validation_error"};
  static constexpr ErrorRow kUnauthorized{401, "", Fault::Client, "validation_error"};
  static constexpr ErrorRow kForbidden{403, "", Fault::Client, "validation_error"};
  static constexpr ErrorRow kMissingModel{400, "missing_model", Fault::Client, "validation_error"};
  static constexpr ErrorRow kModelNotFound{404, "model_not_found", Fault::Fleet, "no_workers"};
  static constexpr ErrorRow kInvalidTarget{400, "invalid_target_worker", Fault::Client,
                                           "validation_error"};
  static constexpr ErrorRow kQueueFull{429, "admission_queue_full", Fault::Gateway, "overloaded"};
  static constexpr ErrorRow kQueueTimeout{503, "admission_queue_timeout", Fault::Gateway,
                                          "overloaded"};
  static constexpr ErrorRow kNoAvailable{503, "no_available_workers", Fault::Fleet, "no_workers"};
  static constexpr ErrorRow kOverloaded{503, "worker_overload_protection_shed", Fault::Fleet,
                                        "no_workers"};
  static constexpr ErrorRow kNoWorkers{503, "no_workers", Fault::Fleet, "no_workers"};
  static constexpr ErrorRow kConnect{502, "call_upstream_request_error", Fault::Worker,
                                     "backend_error"};
  static constexpr ErrorRow kTimeout{504, "call_upstream_timeout", Fault::Worker, "timeout"};
  static constexpr ErrorRow kBodyFailed{502, "read_response_body_failed", Fault::Worker,
                                        "backend_error"};
  static constexpr ErrorRow kTooLarge{502, "upstream_response_too_large", Fault::Worker,
                                      "backend_error"};
  static constexpr ErrorRow kUnsupported{501, "not_implemented", Fault::Gateway, "internal_error"};
  static constexpr ErrorRow kResources{503, "local_resources_exhausted", Fault::Gateway,
                                       "internal_error"};
  static constexpr ErrorRow kGone{499, "", Fault::Client, "client_disconnected"};
  static constexpr ErrorRow kNoTokenKeys{503, "", Fault::Gateway, "internal_error"};
  static constexpr ErrorRow kAborted{503, "", Fault::Gateway, "internal_error"};
  static constexpr ErrorRow kInternal{500, "internal_error", Fault::Gateway, "internal_error"};

  switch (code) {
    case ErrorCode::BadRequest:
    case ErrorCode::BodyUnreadable:
    case ErrorCode::JsonSyntax:
    case ErrorCode::JsonData:
    case ErrorCode::JsonRange: return kBadRequest;
    case ErrorCode::BodyStalled: return kBodyStalled;
    case ErrorCode::BodyAborted: return kBodyAborted;
    case ErrorCode::BodyTooLarge: return kBodyTooLarge;
    case ErrorCode::NotJson: return kNotJson;
    case ErrorCode::ContentCoding: return kContentCoding;
    case ErrorCode::Unauthorized: return kUnauthorized;
    case ErrorCode::Forbidden: return kForbidden;
    case ErrorCode::MissingModel: return kMissingModel;
    case ErrorCode::ModelNotFound: return kModelNotFound;
    case ErrorCode::InvalidTargetWorker: return kInvalidTarget;
    case ErrorCode::AdmissionQueueFull: return kQueueFull;
    case ErrorCode::AdmissionQueueTimeout: return kQueueTimeout;
    case ErrorCode::NoAvailableWorkers: return kNoAvailable;
    case ErrorCode::WorkersOverloaded: return kOverloaded;
    case ErrorCode::NoWorkers: return kNoWorkers;
    case ErrorCode::UpstreamConnect: return kConnect;
    case ErrorCode::UpstreamTimeout: return kTimeout;
    case ErrorCode::UpstreamBodyFailed: return kBodyFailed;
    case ErrorCode::UpstreamResponseTooLarge: return kTooLarge;
    case ErrorCode::UnsupportedRoute: return kUnsupported;
    case ErrorCode::LocalResources: return kResources;
    case ErrorCode::NoTokenKeys: return kNoTokenKeys;
    case ErrorCode::ClientGone: return kGone;
    case ErrorCode::Aborted: return kAborted;
    case ErrorCode::Internal: return kInternal;
    default: break;
  }
  const ErrorRow* const shared = pd_row(code);
  return shared != nullptr ? *shared : kInternal;
}

}  // namespace smg
