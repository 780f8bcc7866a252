#include <chrono>
#include <string>

#include <gtest/gtest.h>

#include <smg/observability/request_trace.hpp>

namespace smg::observability {
namespace {

using namespace std::chrono_literals;

const auto kStarted = std::chrono::steady_clock::time_point(1h);
const std::string kTraceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string kParentId = "00f067aa0ba902b7";

std::string parent_with(const std::string& flags) {
  return "00-" + kTraceId + "-" + kParentId + "-" + flags;
}

std::string hex(auto id) {
  std::string text;
  append_hex(text, id);
  return text;
}

TEST(RequestTrace, ContinuesTheClientsTrace) {
  const struct {
    std::string flags;
    std::string state;
    std::string kept;
    bool sampled;
  } cases[] = {
      {"01", "a=b,c=d", "a=b,c=d", true},
      {"03", "", "", true},
      {"00", "a=b", "a=b", false},
      {"01", "not a state", "", true},
  };
  for (const auto& test : cases) {
    const RequestTrace trace(parent_with(test.flags), test.state, kStarted);
    EXPECT_EQ(hex(trace.context.trace), kTraceId);
    EXPECT_EQ(hex(trace.parent), kParentId);
    EXPECT_NE(trace.context.span, trace.parent);
    EXPECT_NE(trace.context.span, 0U);
    EXPECT_EQ(trace.context.flags, std::stoi(test.flags));
    EXPECT_EQ(trace.context.sampled(), test.sampled);
    EXPECT_EQ(trace.tracestate, test.kept);
  }
}

TEST(RequestTrace, BeginsOneWhereThereIsNone) {
  for (const std::string parent : {"", "nonsense", "00-0-0-01"}) {
    const RequestTrace trace(parent, "a=b", kStarted);
    EXPECT_NE(trace.context.trace, TraceId{});
    EXPECT_EQ(trace.parent, 0U);
    EXPECT_TRUE(trace.context.sampled());
    EXPECT_EQ(trace.tracestate, "") << "the state belongs to the trace it came with";
  }
}

TEST(RequestTrace, TellsTheTimeOfDay) {
  const RequestTrace trace("", "", kStarted);
  EXPECT_EQ(trace.wall_time(kStarted), trace.wall_began);
  EXPECT_EQ(trace.wall_time(kStarted + 1500ms), trace.wall_began + 1500ms);
}

TEST(AttemptTrace, IsAChildThatTheWorkerContinues) {
  RequestTrace trace(parent_with("01"), "a=b", kStarted);
  {
    AttemptTrace first(&trace, "http://w:1", "w", 1);
    EXPECT_TRUE(first.on());
    EXPECT_EQ(first.tracestate(), "a=b");
    const auto sent = first.next_send();
    const auto seen = parse_traceparent({sent.data(), sent.size()});
    ASSERT_TRUE(seen);
    EXPECT_EQ(*seen, (TraceContext{trace.context.trace, trace.attempts[0].id, 1}));
    EXPECT_NE(seen->span, trace.context.span);
    EXPECT_EQ(first.next_send(), sent) << "the resend is of the same attempt";
    first.failed(ErrorCode::UpstreamConnect);
    AttemptTrace second(&trace, "http://v", "v", 80);
    EXPECT_NE(second.next_send(), sent);
    second.responded(200);
    first.responded(503);  // the spans have moved in memory
  }
  ASSERT_EQ(trace.attempts.size(), 2U);
  EXPECT_EQ(trace.span_count(), 3U);
  EXPECT_EQ(trace.attempts[0].outcome.status, 503);
  EXPECT_EQ(trace.attempts[0].outcome.error, "call_upstream_request_error");
  EXPECT_TRUE(trace.attempts[0].outcome.failed);
  EXPECT_EQ(trace.attempts[0].resends, 1U);
  EXPECT_EQ(trace.attempts[1].worker_url, "http://v");
  EXPECT_EQ(trace.attempts[1].host, "v");
  EXPECT_EQ(trace.attempts[1].port, 80);
  EXPECT_EQ(trace.attempts[1].outcome.status, 200);
  EXPECT_FALSE(trace.attempts[1].outcome.failed);
  EXPECT_EQ(trace.attempts[1].resends, 2U);
  for (const auto& attempt : trace.attempts) EXPECT_GE(attempt.ended, attempt.began);
}

TEST(AttemptTrace, MayEndBeforeItsOwner) {
  RequestTrace trace("", "", kStarted);
  std::chrono::steady_clock::time_point ended;
  {
    AttemptTrace attempt(&trace, "http://w:1", "w", 1);
    trace.attempts[0].began = kStarted;
    attempt.end();
    ended = trace.attempts[0].ended;
  }
  EXPECT_EQ(trace.attempts[0].ended, ended);
}

TEST(AttemptTrace, DoesNothingWithoutATrace) {
  AttemptTrace off(nullptr, "http://w:1", "w", 1);
  EXPECT_FALSE(off.on());
  off.responded(500);
  off.end();
  off.failed(ErrorCode::Internal);
}

TEST(SpanOutcome, NamesErrorsAndTellsFailures) {
  const struct {
    ErrorCode code;
    std::string_view name;
    bool failed;
  } cases[] = {
      {ErrorCode::UpstreamTimeout, "call_upstream_timeout", true},
      {ErrorCode::NoAvailableWorkers, "no_available_workers", true},
      {ErrorCode::Aborted, "internal_error", true},
      {ErrorCode::ClientGone, "client_disconnected", false},
      {ErrorCode::JsonSyntax, "validation_error", false},
      {ErrorCode::BodyStalled, "request_body_stalled", false},
  };
  for (const auto& test : cases) {
    SpanOutcome outcome;
    outcome.fail_with(test.code);
    EXPECT_EQ(outcome.error, test.name);
    EXPECT_EQ(outcome.failed, test.failed) << test.name;
  }
}

TEST(TracedPath, IsPrintableAsciiOfABoundedLength) {
  EXPECT_EQ(traced_path("/workers/a-b~c"), "/workers/a-b~c");
  EXPECT_EQ(traced_path("/a b\x7f\xff\xc3\xa9"), "/a%20b%7F%FF%C3%A9");
  EXPECT_EQ(traced_path(std::string(2000, 'a')).size(), 512U);
}

}  // namespace
}  // namespace smg::observability
