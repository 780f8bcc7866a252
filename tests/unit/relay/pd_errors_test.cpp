#include "relay/pd_errors.hpp"

#include <gtest/gtest.h>

#include <smg/base/result.hpp>

namespace smg::relay::pd {
namespace {

using routing::WorkerRole;

TEST(PdErrors, StatusesAreKeptAndCodesNameTheWorker) {
  const struct {
    int status;
    ErrorCode prefill;
    ErrorCode decode;
    int shown;
  } cases[] = {
      {400, ErrorCode::PrefillBadRequest, ErrorCode::DecodeBadRequest, 400},
      {404, ErrorCode::PrefillNotFound, ErrorCode::DecodeNotFound, 404},
      {429, ErrorCode::PrefillError, ErrorCode::DecodeError, 429},
      {500, ErrorCode::PrefillInternalError, ErrorCode::DecodeInternalError, 500},
      {501, ErrorCode::PrefillError, ErrorCode::DecodeError, 501},
      {502, ErrorCode::PrefillBadGateway, ErrorCode::DecodeBadGateway, 502},
      {503, ErrorCode::PrefillUnavailable, ErrorCode::DecodeUnavailable, 503},
      {307, ErrorCode::PrefillError, ErrorCode::DecodeError, 502},
  };
  for (const auto& c : cases) {
    const FailedAnswer answer{c.status, "why", {}};
    EXPECT_EQ(prefill_error(answer).code, c.prefill) << c.status;
    EXPECT_EQ(decode_error(answer).code, c.decode) << c.status;
    EXPECT_EQ(prefill_upstream_error(answer).code, ErrorCode::PrefillUpstreamError);
    for (const auto& error :
         {prefill_error(answer), decode_error(answer), prefill_upstream_error(answer)}) {
      EXPECT_EQ(error.status(), c.shown) << c.status;
    }
  }
}

TEST(PdErrors, MessagesAreTheWorkers) {
  EXPECT_EQ(prefill_error({400, "raw", {}}).message, "Prefill server error (400 Bad Request): raw");
  const struct {
    std::string_view body;
    std::string_view message;
  } cases[] = {{R"({"error":{"message":"inner"},"message":"outer"})", "inner"},
               {R"({"message":"outer"})", "outer"},
               {R"({"detail":"x"})", R"({"detail":"x"})"},
               {"plain", "plain"},
               {"cut \xC3", "cut "},
               {"\xFF\xFF\xFF\xFF\xFF", "an answer that is no text"},
               {"", ""}};
  for (const auto& c : cases) EXPECT_EQ(decode_error({500, c.body, {}}).message, c.message);
}

TEST(PdErrors, TheSignalToBackOffIsKept) {
  EXPECT_EQ(prefill_error({429, "", "7"}).retry_after_seconds, 7);
  EXPECT_EQ(decode_error({503, "", " 8 "}).retry_after_seconds, 8);
  EXPECT_EQ(decode_error({503, "", "99999999"}).retry_after_seconds, 3600);
  EXPECT_EQ(decode_error({503, "", "Wed, 21 Oct 2015 07:28:00 GMT"}).retry_after_seconds, 0);
}

TEST(PdErrors, AnExchangeThatFailedNamesItsWorker) {
  const struct {
    ErrorCode code;
    ErrorCode prefill;
    ErrorCode decode;
  } cases[] = {
      {ErrorCode::UpstreamConnect, ErrorCode::PrefillRequestFailed, ErrorCode::DecodeRequestFailed},
      {ErrorCode::UpstreamBodyFailed, ErrorCode::PrefillReadFailed, ErrorCode::UpstreamBodyFailed},
      {ErrorCode::UpstreamTimeout, ErrorCode::UpstreamTimeout, ErrorCode::UpstreamTimeout},
      {ErrorCode::ClientGone, ErrorCode::ClientGone, ErrorCode::ClientGone},
      {ErrorCode::LocalResources, ErrorCode::LocalResources, ErrorCode::LocalResources},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(transport_error(WorkerRole::Prefill, fail(c.code)).code, c.prefill);
    EXPECT_EQ(transport_error(WorkerRole::Decode, fail(c.code)).code, c.decode);
  }
  EXPECT_EQ(transport_error(WorkerRole::Decode, {ErrorCode::UpstreamBodyFailed, "x", 504}).status(),
            504);
}

TEST(PdErrors, AnEventHoldsTheAnswerOnOneLine) {
  EXPECT_EQ(error_event({503, "{\"a\":\n1}", {}}),
            "data: {\"error\":{\"message\":{\"a\":1},\"status\":503}}\n\n");
  EXPECT_EQ(error_event({400, "two\nlines", {}}),
            "data: {\"error\":{\"message\":\"two\\nlines\",\"status\":400}}\n\n");
}

}  // namespace
}  // namespace smg::relay::pd
