#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <smg/base/error.hpp>

namespace smg {
namespace {

struct Expected {
  ErrorCode code;
  int status;
  std::string_view wire_code;
  Fault fault;
};

/// The page ("Stalled and Aborted Uploads", "Memory Bounds"), rulings 6, 10, 11, 17, 23 and 30, and
/// section 4 of the request path.
constexpr Expected kTable[] = {
    {ErrorCode::BadRequest, 400, "", Fault::Client},
    {ErrorCode::BodyStalled, 408, "request_body_stalled", Fault::Client},
    {ErrorCode::BodyAborted, 400, "request_body_aborted", Fault::Client},
    {ErrorCode::BodyTooLarge, 413, "request_body_too_large", Fault::Client},
    {ErrorCode::BodyUnreadable, 400, "", Fault::Client},
    {ErrorCode::JsonSyntax, 400, "", Fault::Client},
    {ErrorCode::JsonData, 400, "", Fault::Client},
    {ErrorCode::JsonRange, 400, "", Fault::Client},
    {ErrorCode::NotJson, 415, "", Fault::Client},
    {ErrorCode::ContentCoding, 415, "unsupported_content_encoding", Fault::Client},
    {ErrorCode::Unauthorized, 401, "", Fault::Client},
    {ErrorCode::Forbidden, 403, "", Fault::Client},
    {ErrorCode::MissingModel, 400, "missing_model", Fault::Client},
    {ErrorCode::ModelNotFound, 404, "model_not_found", Fault::Fleet},
    {ErrorCode::InvalidTargetWorker, 400, "invalid_target_worker", Fault::Client},
    {ErrorCode::AdmissionQueueFull, 429, "admission_queue_full", Fault::Gateway},
    {ErrorCode::AdmissionQueueTimeout, 503, "admission_queue_timeout", Fault::Gateway},
    {ErrorCode::NoAvailableWorkers, 503, "no_available_workers", Fault::Fleet},
    {ErrorCode::WorkersOverloaded, 503, "worker_overload_protection_shed", Fault::Fleet},
    {ErrorCode::NoWorkers, 503, "no_workers", Fault::Fleet},
    {ErrorCode::UpstreamConnect, 502, "call_upstream_request_error", Fault::Worker},
    {ErrorCode::UpstreamTimeout, 504, "call_upstream_timeout", Fault::Worker},
    {ErrorCode::UpstreamBodyFailed, 502, "read_response_body_failed", Fault::Worker},
    {ErrorCode::UpstreamResponseTooLarge, 502, "upstream_response_too_large", Fault::Worker},
    {ErrorCode::PrefillBadRequest, 400, "prefill_bad_request", Fault::Client},
    {ErrorCode::PrefillNotFound, 404, "prefill_not_found", Fault::Client},
    {ErrorCode::PrefillInternalError, 500, "prefill_internal_error", Fault::Worker},
    {ErrorCode::PrefillBadGateway, 502, "prefill_bad_gateway", Fault::Worker},
    {ErrorCode::PrefillUnavailable, 503, "prefill_unavailable", Fault::Worker},
    {ErrorCode::PrefillError, 502, "prefill_error", Fault::Worker},
    {ErrorCode::PrefillUpstreamError, 502, "prefill_upstream_error", Fault::Worker},
    {ErrorCode::PrefillRequestFailed, 502, "prefill_request_failed", Fault::Worker},
    {ErrorCode::PrefillReadFailed, 502, "prefill_read_failed", Fault::Worker},
    {ErrorCode::DecodeBadRequest, 400, "decode_bad_request", Fault::Client},
    {ErrorCode::DecodeNotFound, 404, "decode_not_found", Fault::Client},
    {ErrorCode::DecodeInternalError, 500, "decode_internal_error", Fault::Worker},
    {ErrorCode::DecodeBadGateway, 502, "decode_bad_gateway", Fault::Worker},
    {ErrorCode::DecodeUnavailable, 503, "decode_unavailable", Fault::Worker},
    {ErrorCode::DecodeError, 502, "decode_error", Fault::Worker},
    {ErrorCode::DecodeRequestFailed, 502, "decode_request_failed", Fault::Worker},
    {ErrorCode::UnsupportedRoute, 501, "not_implemented", Fault::Gateway},
    {ErrorCode::LocalResources, 503, "local_resources_exhausted", Fault::Gateway},
    {ErrorCode::NoTokenKeys, 503, "", Fault::Gateway},
    {ErrorCode::ClientGone, 499, "", Fault::Client},
    {ErrorCode::Aborted, 503, "", Fault::Gateway},
    {ErrorCode::Internal, 500, "internal_error", Fault::Gateway},
};

TEST(ErrorTable, HasTheStatusCodeAndFaultOfTheTexts) {
  for (const auto& expected : kTable) {
    const ErrorRow& found = row(expected.code);
    EXPECT_EQ(found.status, expected.status) << expected.wire_code;
    EXPECT_EQ(found.wire_code, expected.wire_code) << expected.status;
    EXPECT_EQ(found.fault, expected.fault) << expected.wire_code;
    EXPECT_FALSE(found.error_type.empty()) << expected.wire_code;
  }
}

TEST(ErrorTable, IsCoveredHereWithEveryCode) {
  std::set<ErrorCode> covered;
  for (const auto& expected : kTable) covered.insert(expected.code);
  EXPECT_EQ(covered.size(), static_cast<std::size_t>(ErrorCode::Internal) + 1);
}

TEST(ErrorTable, ErrorTypesAreAClosedSetOfLabels) {
  const std::set<std::string_view> known = {"validation_error",    "timeout",
                                            "no_workers",          "backend_error",
                                            "client_disconnected", "internal_error"};
  for (const auto& expected : kTable) {
    EXPECT_TRUE(known.contains(row(expected.code).error_type)) << row(expected.code).error_type;
  }
}

TEST(GatewayError, StatusIsTheTablesUnlessOverridden) {
  EXPECT_EQ((GatewayError{ErrorCode::UpstreamBodyFailed, ""}.status()), 502);
  EXPECT_EQ((GatewayError{ErrorCode::UpstreamBodyFailed, "", 504}.status()), 504);
  EXPECT_EQ(GatewayError{}.status(), 500);
}

TEST(GatewayError, ErrorTypeIsTheTablesUnlessTheStatusIsOverridden) {
  const struct {
    GatewayError error;
    std::string_view expected;
  } kCases[] = {
      {{ErrorCode::UpstreamBodyFailed, ""}, "backend_error"},
      {{ErrorCode::UpstreamBodyFailed, "", 504}, "timeout"},
      {{ErrorCode::UpstreamTimeout, ""}, "timeout"},
      {{ErrorCode::NoAvailableWorkers, ""}, "no_workers"},
      {{ErrorCode::PrefillBadRequest, "", 400}, "validation_error"},
      {{ErrorCode::PrefillUpstreamError, "", 400}, "validation_error"},
      {{ErrorCode::PrefillUpstreamError, "", 404}, "no_workers"},
      {{ErrorCode::PrefillUpstreamError, ""}, "backend_error"},
      {{ErrorCode::DecodeError, "", 408}, "timeout"},
      {{ErrorCode::DecodeError, "", 501}, "backend_error"},
      {{ErrorCode::DecodeError, "", 429}, "internal_error"},
  };
  for (const auto& [error, expected] : kCases) EXPECT_EQ(error.error_type(), expected);
}

}  // namespace
}  // namespace smg
