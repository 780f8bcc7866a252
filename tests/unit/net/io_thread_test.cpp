#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "support/run_on.hpp"
#include <smg/net/io_thread.hpp>

namespace smg::net {
namespace {

TEST(IoThread, PostedWorkRunsOnTheLoopInOrder) {
  test::Loops loops(2);
  std::vector<int> order;
  std::thread::id ran_on[2];
  for (int i = 0; i < 100; ++i) loops[0].post([&order, i] { order.push_back(i); });
  for (std::size_t i = 0; i < 2; ++i) {
    ran_on[i] = test::call_on(loops[i], [] { return std::this_thread::get_id(); });
  }
  ASSERT_EQ(order.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
  EXPECT_NE(ran_on[0], ran_on[1]);
  EXPECT_NE(ran_on[0], std::this_thread::get_id());
}

TEST(IoThread, PostToAllReachesEveryLoop) {
  test::Loops loops(3);
  std::atomic<unsigned> seen{0};
  loops.threads.post_to_all([&](IoThread& thread) { seen.fetch_or(1U << thread.index()); });
  for (std::size_t i = 0; i < 3; ++i) test::call_on(loops[i], [] {});
  EXPECT_EQ(seen.load(), 7U);
}

TEST(IoThread, AnEventHandlerThatThrowsDoesNotStopTheLoop) {
  test::Loops loops;
  loops[0].post([] { throw std::runtime_error("boom"); });
  EXPECT_EQ(test::call_on(loops[0], [] { return 7; }), 7);
}

TEST(IoThread, ItsTimerFiresArmedDeadlines) {
  test::Loops loops;
  std::promise<void> fired;
  std::unique_ptr<Deadline> deadline;
  test::call_on(loops[0], [&] {
    deadline = std::make_unique<Deadline>(loops[0].deadlines(), [&] { fired.set_value(); });
    deadline->arm(std::chrono::milliseconds(1));
  });
  fired.get_future().get();
  test::call_on(loops[0], [&] { deadline.reset(); });
}

TEST(IoThread, NoDeadlineFiresEarlyInTheCompanyOfOthers) {
  test::Loops loops;
  struct Timed {
    Timed(IoThread& thread, Duration length, std::promise<void>& done)
        : after(length), deadline(thread.deadlines(), [this, &done] {
            if (Clock::now() - armed < after) ++early;
            if (++rounds == 10) return done.set_value();
            arm();
          }) {}
    void arm() {
      armed = Clock::now();
      deadline.arm(after);
    }

    const Duration after;
    Deadline deadline;
    TimePoint armed{};
    int rounds = 0;
    int early = 0;
  };
  std::vector<std::promise<void>> done(20);
  std::vector<std::unique_ptr<Timed>> all;
  for (std::size_t i = 0; i < done.size(); ++i) {
    const auto after = std::chrono::microseconds(5000 + 700 * i);
    all.push_back(std::make_unique<Timed>(loops[0], after, done[i]));
  }
  for (const auto& timed : all) test::call_on(loops[0], [&] { timed->arm(); });
  for (auto& promise : done) promise.get_future().get();
  test::call_on(loops[0], [&] {
    for (const auto& timed : all) EXPECT_EQ(timed->early, 0) << timed->after.count() << " ns";
    all.clear();
  });
}

Task<> end_later(IoThread& thread, bool& ended) {
  Gate gate(thread.executor());
  co_await sleep_or_wake(thread, gate, std::chrono::milliseconds(1));
  ended = true;
}

TEST(IoThread, RunUntilIdleWaitsForTheTasksOfTheLoop) {
  test::Loops loops;
  bool ended = false;
  run_until_idle(loops[0], [&] { loops[0].tasks().spawn(end_later(loops[0], ended)); });
  EXPECT_TRUE(ended);
  run_until_idle(loops[0]);
}

TEST(IoThread, StopIsIdempotentAndEndsTheThreads) {
  IoThreads threads(2);
  threads.start();
  threads.stop();
  threads.stop();
  EXPECT_EQ(threads.size(), 2U);
}

TEST(SleepOrWake, EndsWithItsDeadline) {
  test::Loops loops;
  auto slept = test::start_on(loops[0], [](IoThread& thread) -> Task<> {
    Gate gate(thread.executor());
    co_await sleep_or_wake(thread, gate, std::chrono::hours(1));
  });
  while (slept.wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
    test::expire_deadlines(loops[0]);
  }
}

TEST(SleepOrWake, EndsWhenTheGateIsOpenedAndLeavesNoDeadline) {
  test::Loops loops;
  Gate gate(loops[0].executor());
  auto slept = test::start_on(loops[0], [&gate](IoThread& thread) -> Task<bool> {
    co_await sleep_or_wake(thread, gate, std::chrono::hours(1));
    co_return thread.deadlines().empty();
  });
  test::call_on(loops[0], [&gate] { gate.open(); });
  EXPECT_TRUE(slept.get());
}

TEST(SleepOrWake, OfNoTimeReturns) {
  test::Loops loops;
  test::run_on(loops[0], [](IoThread& thread) -> Task<> {
    Gate gate(thread.executor());
    co_await sleep_or_wake(thread, gate, Duration::zero());
  });
}

}  // namespace
}  // namespace smg::net
