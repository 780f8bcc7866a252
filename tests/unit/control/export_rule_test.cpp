#include "control/export_rule.hpp"

#include <gtest/gtest.h>

namespace smg::control {
namespace {

using namespace std::chrono_literals;
using upstream::FetchedResponse;

TEST(JudgeExport, GoesByTheStatus) {
  const std::pair<int, ExportVerdict> kCases[] = {
      {200, ExportVerdict::Accepted}, {202, ExportVerdict::Accepted},
      {429, ExportVerdict::TryAgain}, {502, ExportVerdict::TryAgain},
      {503, ExportVerdict::TryAgain}, {504, ExportVerdict::TryAgain},
      {400, ExportVerdict::Refused},  {404, ExportVerdict::Refused},
      {415, ExportVerdict::Refused},  {500, ExportVerdict::Refused},
      {301, ExportVerdict::Refused},
  };
  for (const auto& [status, verdict] : kCases) {
    EXPECT_EQ(judge_export(FetchedResponse{status, {}, {}}), verdict) << status;
  }
}

TEST(JudgeExport, TriesAgainWhereNobodyAnswered) {
  for (const auto code : {ErrorCode::UpstreamConnect, ErrorCode::UpstreamTimeout,
                          ErrorCode::LocalResources, ErrorCode::Aborted}) {
    EXPECT_EQ(judge_export(fail(code)), ExportVerdict::TryAgain);
  }
  EXPECT_EQ(judge_export(fail(ErrorCode::UpstreamResponseTooLarge)), ExportVerdict::Accepted);
}

TEST(RejectedSpans, AreReadFromAPartialSuccess) {
  const std::pair<std::string_view, std::uint64_t> kCases[] = {
      {R"({"partialSuccess":{"rejectedSpans":"3","errorMessage":"e"}})", 3},
      {R"({"partialSuccess":{"rejectedSpans":4}})", 4},
      {R"({"partialSuccess":{"rejectedSpans":-4}})", 0},
      {R"({"partialSuccess":{"rejectedSpans":"-4"}})", 0},
      {R"({"partialSuccess":{"errorMessage":"e"}})", 0},
      {R"({"partialSuccess":{}})", 0},
      {R"({"partialSuccess":null})", 0},
      {R"({})", 0},
      {R"([])", 0},
      {"", 0},
      {"OK", 0},
  };
  for (const auto& [body, spans] : kCases) EXPECT_EQ(rejected_spans(body), spans) << body;
}

TEST(ExportBackoff, DoublesUpToABound) {
  EXPECT_EQ(export_backoff(1), 500ms);
  EXPECT_EQ(export_backoff(2), 1s);
  EXPECT_EQ(export_backoff(3), 2s);
  EXPECT_EQ(export_backoff(5), 8s);
  EXPECT_EQ(export_backoff(100), 8s);
}

}  // namespace
}  // namespace smg::control
