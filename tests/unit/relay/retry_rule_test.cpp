#include <set>

#include <gtest/gtest.h>

#include <smg/relay/retry_rule.hpp>

namespace smg::relay {
namespace {

using config::Milliseconds;
using routing::Outcome;

TEST(RetryRule, StatusesThatMayBeAskedForAgain) {
  const std::set<int> retryable = {408, 429, 500, 502, 503, 504};
  for (int status = 100; status < 1000; ++status) {
    EXPECT_EQ(is_retryable(status), retryable.contains(status)) << status;
  }
}

/// Spec, circuit breaker, and ruling 19.
TEST(RetryRule, WhatAStatusTellsABreaker) {
  for (int status = 100; status < 600; ++status) {
    Outcome expected = Outcome::Success;
    if (status == 408 || status >= 500) expected = Outcome::Failure;
    if (status == 429 || status == 529) expected = Outcome::None;
    EXPECT_EQ(outcome_of(status, {}), expected) << status;
  }
}

/// Spec, circuit breaker: each list of a worker's own replaces the usual one whole.
TEST(RetryRule, AWorkersOwnStatusesReplaceTheUsual) {
  using enum routing::Outcome;
  using routing::StatusSet;
  const std::vector<int> none;
  const std::vector<int> teapot{418};
  const std::vector<int> unavailable{503};
  const struct {
    std::optional<StatusSet> failures;
    std::optional<StatusSet> capacity;
    std::vector<std::pair<int, Outcome>> outcomes;
  } cases[] = {
      {StatusSet(teapot), {}, {{418, Failure}, {503, Success}, {408, Success}, {429, None}}},
      {{}, StatusSet(unavailable), {{503, None}, {429, Success}, {529, Failure}, {500, Failure}}},
      {StatusSet(teapot), StatusSet(unavailable), {{418, Failure}, {503, None}, {429, Success}}},
      {StatusSet(teapot), StatusSet(teapot), {{418, None}, {500, Success}}},
      {StatusSet(none), StatusSet(none), {{429, Success}, {500, Success}, {999, Success}}},
  };
  for (const auto& c : cases) {
    for (const auto& [status, outcome] : c.outcomes) {
      EXPECT_EQ(outcome_of(status, {c.failures, c.capacity}), outcome)
          << &c - cases << ": " << status;
    }
  }
}

TEST(RetryRule, OnlyAWorkersFaultIsRetriedAndHeldAgainstIt) {
  using enum ErrorCode;
  const std::set<ErrorCode> of_workers = {
      UpstreamConnect,      UpstreamTimeout,      UpstreamBodyFailed, UpstreamResponseTooLarge,
      PrefillInternalError, PrefillBadGateway,    PrefillUnavailable, PrefillError,
      PrefillUpstreamError, PrefillRequestFailed, PrefillReadFailed,  DecodeInternalError,
      DecodeBadGateway,     DecodeUnavailable,    DecodeError,        DecodeRequestFailed};
  for (int i = 0; i <= static_cast<int>(Internal); ++i) {
    const auto code = static_cast<ErrorCode>(i);
    const GatewayError error{code, ""};
    EXPECT_EQ(is_retryable(error), of_workers.contains(code)) << i;
    EXPECT_EQ(outcome_of(error), of_workers.contains(code) ? Outcome::Failure : Outcome::None) << i;
  }
}

TEST(RetryRule, AStatusThatIsKeptDecides) {
  EXPECT_TRUE(is_retryable(GatewayError{ErrorCode::DecodeError, "", 429}));
  EXPECT_FALSE(is_retryable(GatewayError{ErrorCode::DecodeError, "", 501}));
  EXPECT_FALSE(is_retryable(GatewayError{ErrorCode::PrefillUpstreamError, "", 400}));
}

config::Retry settings(double multiplier, double jitter) {
  config::Retry retry;
  retry.initial_backoff = Milliseconds(50);
  retry.max_backoff = Milliseconds(1000);
  retry.multiplier = multiplier;
  retry.jitter = jitter;
  return retry;
}

TEST(Backoff, GrowsGeometricallyUpToItsMaximum) {
  const auto doubling = settings(2.0, 0.0);
  const std::int64_t expected[] = {50, 100, 200, 400, 800, 1000, 1000};
  for (std::uint32_t i = 0; i < std::size(expected); ++i) {
    EXPECT_EQ(backoff(doubling, i + 1, 0.3).count(), expected[i]) << i + 1;
  }
  EXPECT_EQ(backoff(doubling, 100000, 0.3).count(), 1000) << "no overflow";
  const auto flat = settings(1.0, 0.0);
  EXPECT_EQ(backoff(flat, 1, 0.0).count(), 50);
  EXPECT_EQ(backoff(flat, 50, 0.0).count(), 50);
  EXPECT_EQ(backoff(settings(1.5, 0.0), 2, 0.0).count(), 75);
}

TEST(Backoff, JitterSpreadsBothWays) {
  const auto jittered = settings(2.0, 0.2);
  const struct {
    std::uint32_t repetition;
    double draw;
    std::int64_t delay;
  } cases[] = {{1, 0.0, 40},  {1, 0.5, 50},  {1, 1.0, 60},   {2, 0.0, 80},
               {2, 0.25, 90}, {9, 0.0, 800}, {9, 0.5, 1000}, {9, 1.0, 1200}};
  for (const auto& c : cases) {
    EXPECT_EQ(backoff(jittered, c.repetition, c.draw).count(), c.delay)
        << c.repetition << " at " << c.draw;
  }
  EXPECT_EQ(backoff(settings(2.0, 1.0), 1, 0.0).count(), 0) << "full jitter may wait for nothing";
}

TEST(Backoff, DrawsLieInTheUnitInterval) {
  double least = 1.0;
  double most = 0.0;
  for (int i = 0; i < 10000; ++i) {
    const double draw = random_draw();
    ASSERT_GE(draw, 0.0);
    ASSERT_LT(draw, 1.0);
    least = std::min(least, draw);
    most = std::max(most, draw);
  }
  EXPECT_LT(least, 0.1);
  EXPECT_GT(most, 0.9);
}

}  // namespace
}  // namespace smg::relay
