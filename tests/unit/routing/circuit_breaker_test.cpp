#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <smg/observability/metrics.hpp>
#include <smg/routing/circuit_breaker.hpp>

namespace smg::routing {
namespace {

using observability::CircuitState;
using enum Outcome;

class CircuitBreakerTest : public testing::Test {
 protected:
  static config::CircuitBreaker settings() {
    config::CircuitBreaker s;
    s.failure_threshold = 3;
    s.success_threshold = 2;
    s.timeout = config::Seconds{60};
    return s;
  }

  /// One request from its admission to its outcome. False: it was not admitted.
  bool request(Outcome outcome) {
    const auto permit = breaker.admit(now);
    if (permit) breaker.record(*permit, outcome, now);
    return permit.has_value();
  }
  void requests(int count, Outcome outcome) {
    for (int i = 0; i < count; ++i) EXPECT_TRUE(request(outcome));
  }
  void pass(int seconds) { now += config::Seconds{seconds}; }
  void open() {
    requests(3, Failure);
    ASSERT_EQ(breaker.state(), CircuitState::Open);
  }
  void half_open() {
    open();
    pass(60);
  }

  observability::Metrics metrics{{1.0}, "test"};
  std::unique_ptr<observability::WorkerSeries> series = metrics.open_worker_series("http://w");
  CircuitBreaker breaker{settings(), *series};
  TimePoint now{config::Seconds{1000}};
};

TEST_F(CircuitBreakerTest, OpensAfterFailuresInARow) {
  requests(2, Failure);
  EXPECT_EQ(breaker.state(), CircuitState::Closed);
  EXPECT_TRUE(breaker.available(now));
  EXPECT_EQ(breaker.reopens_at(), std::nullopt);
  requests(1, Failure);
  EXPECT_EQ(breaker.state(), CircuitState::Open);
  EXPECT_FALSE(breaker.available(now));
  EXPECT_FALSE(request(Success));
  EXPECT_EQ(breaker.reopens_at(), now + config::Seconds{60});
}

TEST_F(CircuitBreakerTest, SuccessResetsTheCountAndNoVerdictLeavesIt) {
  for (int i = 0; i < 5; ++i) {
    requests(2, Failure);
    requests(1, Success);
  }
  EXPECT_EQ(breaker.state(), CircuitState::Closed);
  requests(2, Failure);
  requests(10, None);
  EXPECT_EQ(breaker.state(), CircuitState::Closed);
  requests(1, Failure);
  EXPECT_EQ(breaker.state(), CircuitState::Open);
}

TEST_F(CircuitBreakerTest, TurnsHalfOpenWhenItsTimeHasPassedAndSomebodyAsks) {
  open();
  pass(59);
  EXPECT_FALSE(breaker.available(now));
  EXPECT_FALSE(request(Success));
  pass(1);
  EXPECT_TRUE(breaker.available(now));
  EXPECT_EQ(breaker.state(), CircuitState::Open) << "asking whether is no admission";
  const auto permit = breaker.admit(now);
  ASSERT_TRUE(permit);
  EXPECT_TRUE(permit->trial);
  EXPECT_EQ(breaker.state(), CircuitState::HalfOpen);
  EXPECT_EQ(breaker.reopens_at(), std::nullopt);
}

TEST_F(CircuitBreakerTest, HalfOpenAdmitsOnlyAsManyTrialsAsSuccessesAreNeeded) {
  half_open();
  const auto first = breaker.admit(now);
  const auto second = breaker.admit(now);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(breaker.available(now));
  EXPECT_FALSE(breaker.admit(now));
  breaker.record(*first, None, now);
  EXPECT_EQ(breaker.state(), CircuitState::HalfOpen);
  EXPECT_TRUE(breaker.available(now)) << "a permit without a verdict is given back";
  const auto third = breaker.admit(now);
  ASSERT_TRUE(third);
  EXPECT_FALSE(breaker.admit(now));
  breaker.record(*second, Success, now);
  breaker.record(*third, Success, now);
  EXPECT_EQ(breaker.state(), CircuitState::Closed);
}

TEST_F(CircuitBreakerTest, ManyTrialsWithoutAVerdictKeepItHalfOpen) {
  half_open();
  requests(50, None);
  EXPECT_EQ(breaker.state(), CircuitState::HalfOpen);
  requests(2, Success);
  EXPECT_EQ(breaker.state(), CircuitState::Closed);
}

TEST_F(CircuitBreakerTest, OneFailureOfATrialOpensItAnew) {
  half_open();
  requests(1, Success);
  pass(5);
  requests(1, Failure);
  EXPECT_EQ(breaker.state(), CircuitState::Open);
  EXPECT_EQ(breaker.reopens_at(), now + config::Seconds{60});
  pass(60);
  requests(1, Success);
  EXPECT_EQ(breaker.state(), CircuitState::HalfOpen) << "successes of an earlier time do not count";
  requests(1, Success);
  EXPECT_EQ(breaker.state(), CircuitState::Closed);
}

TEST_F(CircuitBreakerTest, ClosingForgetsTheFailures) {
  half_open();
  requests(2, Success);
  ASSERT_EQ(breaker.state(), CircuitState::Closed);
  requests(2, Failure);
  EXPECT_EQ(breaker.state(), CircuitState::Closed);
  requests(1, Failure);
  EXPECT_EQ(breaker.state(), CircuitState::Open);
}

TEST_F(CircuitBreakerTest, LateResultsOfEarlierRequestsDoNotKeepItOpenLonger) {
  const auto early_failure = breaker.admit(now);
  const auto early_success = breaker.admit(now);
  open();
  const auto due = breaker.reopens_at();
  pass(30);
  breaker.record(*early_failure, Failure, now);
  breaker.record(*early_success, Success, now);
  EXPECT_EQ(breaker.state(), CircuitState::Open);
  EXPECT_EQ(breaker.reopens_at(), due);
}

/// Ruling 19: the trials decide.
TEST_F(CircuitBreakerTest, LateResultsOfEarlierRequestsDoNotMoveAHalfOpenOne) {
  for (const Outcome outcome : {Success, Failure, None}) {
    CircuitBreaker late(settings(), *series);
    const auto admit = [&] { return late.admit(now).value(); };
    std::vector<CircuitBreaker::Permit> early;
    for (int i = 0; i < 6; ++i) early.push_back(admit());
    for (std::size_t i = 0; i < 3; ++i) late.record(early[i], Failure, now);
    pass(60);
    const auto trial = admit();
    for (std::size_t i = 3; i < 6; ++i) late.record(early[i], outcome, now);
    EXPECT_EQ(late.state(), CircuitState::HalfOpen);
    const auto second = admit();
    EXPECT_FALSE(late.admit(now)) << "no trial has been given back";
    late.record(trial, Success, now);
    EXPECT_EQ(late.state(), CircuitState::HalfOpen);
    late.record(second, Success, now);
    EXPECT_EQ(late.state(), CircuitState::Closed);
  }
  const std::string text = metrics.exposition();
  EXPECT_NE(text.find(R"(smg_worker_cb_outcomes_total{outcome="success",worker="http://w"} 9)"),
            std::string::npos)
      << "they are counted all the same\n"
      << text;
}

TEST_F(CircuitBreakerTest, ATrialThatOutlivesItsTimeStillCountsAsOne) {
  half_open();
  const auto slow = breaker.admit(now);
  requests(1, Failure);
  pass(60);
  ASSERT_TRUE(slow && breaker.admit(now));
  EXPECT_FALSE(breaker.admit(now)) << "two are under way";
  breaker.record(*slow, None, now);
  EXPECT_TRUE(breaker.admit(now));
  EXPECT_FALSE(breaker.admit(now));
}

TEST_F(CircuitBreakerTest, DisabledItNeverOpensButCounts) {
  auto off = settings();
  off.disabled = true;
  CircuitBreaker disabled(off, *series);
  for (int i = 0; i < 100; ++i) {
    const auto permit = disabled.admit(now);
    ASSERT_TRUE(permit);
    EXPECT_FALSE(permit->trial);
    disabled.record(*permit, Failure, now);
  }
  EXPECT_EQ(disabled.state(), CircuitState::Closed);
  const std::string text = metrics.exposition();
  EXPECT_NE(text.find(R"(smg_worker_cb_outcomes_total{outcome="failure",worker="http://w"} 100)"),
            std::string::npos)
      << text;
}

TEST_F(CircuitBreakerTest, IsShownInTheMetrics) {
  half_open();
  requests(1, Success);
  const auto has = [this](std::string_view line) {
    const std::string text = metrics.exposition();
    return text.find(std::string(line) + "\n") != std::string::npos;
  };
  EXPECT_TRUE(has(R"(smg_worker_cb_state{worker="http://w"} 2)"));
  EXPECT_TRUE(has(R"(smg_worker_cb_consecutive_failures{worker="http://w"} 3)"));
  EXPECT_TRUE(has(R"(smg_worker_cb_consecutive_successes{worker="http://w"} 1)"));
  EXPECT_TRUE(
      has(R"(smg_worker_cb_transitions_total{from="open",to="half_open",worker="http://w"} 1)"));
  requests(1, Success);
  EXPECT_TRUE(has(R"(smg_worker_cb_state{worker="http://w"} 0)"));
  EXPECT_TRUE(has(R"(smg_worker_cb_consecutive_failures{worker="http://w"} 0)"));
  EXPECT_TRUE(has(R"(smg_worker_cb_consecutive_successes{worker="http://w"} 0)"));
}

TEST_F(CircuitBreakerTest, TrialsStayBoundedUnderManyThreads) {
  half_open();
  std::atomic<int> running{0};
  std::atomic<bool> exceeded{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        const auto permit = breaker.admit(now);
        if (!permit) continue;
        if (running.fetch_add(1) >= 2) exceeded = true;
        running.fetch_sub(1);
        breaker.record(*permit, None, now);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(exceeded);
  requests(2, Success);
  EXPECT_EQ(breaker.state(), CircuitState::Closed);
}

}  // namespace
}  // namespace smg::routing
