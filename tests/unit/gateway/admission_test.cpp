#include "gateway/admission.hpp"

#include <atomic>
#include <future>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/run_on.hpp"
#include "unit/gateway/waiting_client.hpp"

namespace smg::gateway {
namespace {

class AdmissionTest : public testing::Test {
 protected:
  ~AdmissionTest() override { loops.threads.stop(); }

  void limit(std::int64_t permits, std::uint64_t places, std::uint64_t per_second = 0) {
    settings.max_concurrent_requests = permits;
    settings.queue_size = places;
    settings.rate_limit_tokens_per_second = per_second;
    admission.emplace(settings, loops.threads, metrics);
  }

  /// What a request that arrives on a thread comes to, by the way that all of them go.
  [[nodiscard]] std::future<Result<AdmissionPermit>> arrive(WaitingClient& client) {
    return test::start_on(client.thread(), [&](net::IoThread&) { return enter(client); });
  }

  net::Task<Result<AdmissionPermit>> enter(WaitingClient& client) {
    AdmissionPermit permit = admission->try_enter();
    if (permit.held()) co_return permit;
    auto entered = co_await admission->enter(client);
    co_return entered;
  }

  /// Waits until so many requests stand in line.
  void wait_for_line(int depth) {
    const std::string wanted = "\nsmg_admission_queue_depth " + std::to_string(depth) + "\n";
    while (metrics.exposition().find(wanted) == std::string::npos) std::this_thread::yield();
  }

  [[nodiscard]] bool shows(std::string_view sample) const {
    return metrics.exposition().find("\n" + std::string(sample) + "\n") != std::string::npos;
  }

  test::Loops loops{4};
  observability::Metrics metrics{{1}, "test"};
  config::Admission settings;
  std::optional<Admission> admission;
};

TEST_F(AdmissionTest, HasNoLimitByDefault) {
  admission.emplace(settings, loops.threads, metrics);
  EXPECT_FALSE(admission->limited());
  EXPECT_EQ(metrics.exposition().find("smg_admission"), std::string::npos);
}

TEST_F(AdmissionTest, HandsAPermitToAnotherThread) {
  limit(1, 5);
  WaitingClient first(loops[0]);
  WaitingClient second(loops[1]);
  auto running = arrive(first).get();
  ASSERT_TRUE(running);
  auto waiting = arrive(second);
  wait_for_line(1);
  EXPECT_TRUE(shows("smg_admission_inflight 1"));
  test::call_on(loops[0], [&] { running->give_back(); });
  const auto admitted = waiting.get();
  EXPECT_TRUE(admitted && admitted->held());
  EXPECT_TRUE(shows("smg_admission_queue_depth 0"));
  EXPECT_TRUE(shows(R"(smg_http_rate_limit_total{result="allowed"} 2)"));
}

TEST_F(AdmissionTest, ShedsWhereNobodyMayWait) {
  limit(1, 0);
  WaitingClient client(loops[0]);
  const auto running = arrive(client).get();
  const auto none = arrive(client).get();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, ErrorCode::AdmissionQueueFull);
  EXPECT_EQ(none.error().message, "concurrency limit reached and queuing is disabled");
  EXPECT_EQ(none.error().retry_after_seconds, 2);
  EXPECT_EQ(metrics.exposition().find("smg_admission_queue_rejected_total{"), std::string::npos);
}

TEST_F(AdmissionTest, ShedsWhenTheLineIsFull) {
  limit(1, 1);
  WaitingClient client(loops[0]);
  const auto running = arrive(client).get();
  auto waiting = arrive(client);
  wait_for_line(1);
  WaitingClient late(loops[1]);
  const auto full = arrive(late).get();
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().message, "admission queue is at capacity");
  EXPECT_TRUE(shows(R"(smg_admission_queue_rejected_total{reason="full"} 1)"));
  test::call_on(loops[0], [&] { client.leave(); });
  EXPECT_EQ(waiting.get().error().code, ErrorCode::ClientGone);
  EXPECT_TRUE(shows(R"(smg_http_rate_limit_total{result="rejected"} 1)"));
}

TEST_F(AdmissionTest, AWaitHasAnEnd) {
  settings.queue_timeout = config::Seconds{0};
  limit(1, 1);
  WaitingClient client(loops[0]);
  const auto running = arrive(client).get();
  const auto late = arrive(client).get();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, ErrorCode::AdmissionQueueTimeout);
  EXPECT_EQ(late.error().retry_after_seconds, 2);
  EXPECT_TRUE(shows(R"(smg_admission_queue_rejected_total{reason="timeout"} 1)"));
  EXPECT_TRUE(shows("smg_admission_queue_depth 0"));
}

TEST_F(AdmissionTest, WhoLeavesTheLineIsForgotten) {
  limit(1, 2);
  WaitingClient client(loops[0]);
  WaitingClient leaving(loops[1]);
  WaitingClient staying(loops[2]);
  auto running = arrive(client).get();
  auto gone = arrive(leaving);
  wait_for_line(1);
  auto waiting = arrive(staying);
  wait_for_line(2);
  test::call_on(loops[1], [&] { leaving.leave(); });
  EXPECT_EQ(gone.get().error().code, ErrorCode::ClientGone);
  running->give_back();
  EXPECT_TRUE(waiting.get());
}

TEST_F(AdmissionTest, TheRefillAdmitsWithoutAReturn) {
  limit(1, 1, 1000);
  WaitingClient client(loops[1]);
  const auto first = arrive(client).get();
  const auto second = arrive(client).get();
  EXPECT_TRUE(first && second);
}

/// Requests that run one behind the other on a thread; some leave while they wait.
net::Task<> run_many(Admission& admission, net::IoThread& thread, std::atomic<int>& running,
                     std::atomic<int>& most) {
  for (int i = 0; i < 300; ++i) {
    WaitingClient client(thread);
    if (i % 7 == 3) thread.post([&client] { client.leave(); });
    AdmissionPermit permit = admission.try_enter();
    if (!permit.held()) {
      auto entered = co_await admission.enter(client);
      if (entered) permit = std::move(*entered);
    }
    if (permit.held()) {
      const int now = ++running;
      int seen = most.load();
      while (seen < now && !most.compare_exchange_weak(seen, now)) {
      }
    }
    // Long enough for others to come, and for the message above to be through.
    net::Gate turn(thread.executor());
    thread.post([&turn] { turn.open(); });
    co_await turn.wait();
    if (permit.held()) --running;
  }
}

TEST_F(AdmissionTest, PermitsAreNeitherLostNorMadeUp) {
  limit(3, 4);
  std::atomic<int> running{0};
  std::atomic<int> most{0};
  std::vector<std::future<void>> ends;
  for (int i = 0; i < 12; ++i) {
    ends.push_back(test::start_on(loops[static_cast<std::size_t>(i % 4)], [&](net::IoThread& t) {
      return run_many(*admission, t, running, most);
    }));
  }
  for (auto& end : ends) end.get();
  EXPECT_EQ(most.load(), 3);
  EXPECT_TRUE(shows("smg_admission_inflight 0"));
  EXPECT_TRUE(shows("smg_admission_queue_depth 0"));
  std::vector<AdmissionPermit> all;
  for (int i = 0; i < 3; ++i) all.push_back(admission->try_enter());
  for (const auto& permit : all) EXPECT_TRUE(permit.held());
  EXPECT_FALSE(admission->try_enter().held());
}

}  // namespace
}  // namespace smg::gateway
