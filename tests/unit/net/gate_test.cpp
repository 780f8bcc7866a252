#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <smg/net/gate.hpp>
#include <smg/net/task_group.hpp>

namespace smg::net {
namespace {

class LoopTest : public testing::Test {
 protected:
  void spawn(Task<> task) {
    asio::co_spawn(context.get_executor(), std::move(task), asio::detached);
  }
  /// Runs everything that can run now.
  void settle() {
    context.restart();
    context.poll();
  }
  void note(std::string what) { log.push_back(std::move(what)); }

  asio::io_context context{1};
  std::vector<std::string> log;
};

class GateTest : public LoopTest {
 protected:
  Task<> pass(std::string name) {
    note(name + " waits");
    co_await gate.wait();
    note(name + " passes");
  }

  Task<> pass_or_give_up(AbortSwitch& abort) {
    co_await wait_or_abort(gate, abort);
    note(abort.aborted() ? "gave up" : "passed");
  }

  Gate gate{context.get_executor()};
};

TEST_F(GateTest, OpenedBeforeTheWaitLetsItPassAtOnce) {
  gate.open();
  spawn(pass("a"));
  settle();
  EXPECT_EQ(log, (std::vector<std::string>{"a waits", "a passes"}));
}

TEST_F(GateTest, OpenedTwiceLetsOnlyOnePass) {
  gate.open();
  gate.open();
  gate.open_and_resume();
  spawn(pass("a"));
  settle();
  spawn(pass("b"));
  settle();
  EXPECT_EQ(log, (std::vector<std::string>{"a waits", "a passes", "b waits"}));
  EXPECT_TRUE(gate.has_waiter());
  gate.open();
  settle();
  EXPECT_EQ(log.back(), "b passes");
}

TEST_F(GateTest, AWaitCanBeGivenUp) {
  AbortSwitch abort;
  spawn(pass_or_give_up(abort));
  settle();
  gate.open();
  settle();
  spawn(pass_or_give_up(abort));
  settle();
  EXPECT_TRUE(gate.has_waiter());
  abort.abort();
  settle();
  spawn(pass_or_give_up(abort));
  settle();
  EXPECT_EQ(log, (std::vector<std::string>{"passed", "gave up", "gave up"}));
}

TEST_F(GateTest, AnAbortBehindTheWaitDoesNotOpenIt) {
  AbortSwitch abort;
  gate.open();
  spawn(pass_or_give_up(abort));
  settle();
  abort.abort();
  spawn(pass("a"));
  settle();
  EXPECT_TRUE(gate.has_waiter());
  gate.open();
  settle();
}

TEST_F(GateTest, OpenResumesFromTheEventLoop) {
  spawn(pass("a"));
  settle();
  EXPECT_TRUE(gate.has_waiter());
  gate.open();
  EXPECT_FALSE(gate.has_waiter());
  note("opened");
  settle();
  EXPECT_EQ(log, (std::vector<std::string>{"a waits", "opened", "a passes"}));
}

TEST_F(GateTest, OpenAndResumeResumesInsideTheCall) {
  spawn(pass("a"));
  settle();
  asio::post(context, [&] {
    gate.open_and_resume();
    note("opened");
  });
  settle();
  EXPECT_EQ(log, (std::vector<std::string>{"a waits", "a passes", "opened"}));
}

TEST_F(GateTest, APassedWaitClosesItAgain) {
  spawn(pass("a"));
  settle();
  gate.open();
  settle();
  spawn(pass("b"));
  settle();
  EXPECT_EQ(log.back(), "b waits");
  gate.open();
  settle();
}

TEST_F(GateTest, AnOpeningBetweenTheWakeUpAndTheNextWaitIsNotLost) {
  spawn(pass("a"));
  settle();
  gate.open();
  gate.open();
  settle();
  spawn(pass("b"));
  settle();
  EXPECT_EQ(log.back(), "b passes");
}

class TaskGroupTest : public LoopTest {
 protected:
  Task<> work(Gate& gate, std::string name) {
    note(name + " begins");
    co_await gate.wait();
    note(name + " ends");
  }
  Task<> spawn_second() {
    co_await first.wait();
    group.spawn(work(second, "b"));
  }
  Task<> join() {
    co_await group.join();
    note("joined");
  }

  Gate first{context.get_executor()};
  Gate second{context.get_executor()};
  TaskGroup group{context.get_executor()};
};

TEST_F(TaskGroupTest, JoinOfNothingReturnsAtOnce) {
  spawn(join());
  settle();
  EXPECT_EQ(log, std::vector<std::string>{"joined"});
}

TEST_F(TaskGroupTest, JoinWaitsForEveryTask) {
  group.spawn(work(first, "a"));
  group.spawn(work(second, "b"));
  EXPECT_EQ(group.size(), 2U);
  spawn(join());
  settle();
  second.open();
  settle();
  EXPECT_EQ(group.size(), 1U);
  EXPECT_EQ(log.back(), "b ends");
  first.open();
  settle();
  EXPECT_EQ(log.back(), "joined");
  EXPECT_EQ(group.size(), 0U);
}

TEST_F(TaskGroupTest, ATaskSpawnedDuringTheJoinIsWaitedForToo) {
  group.spawn(spawn_second());
  spawn(join());
  settle();
  first.open();
  settle();
  EXPECT_EQ(log.back(), "b begins");
  second.open();
  settle();
  EXPECT_EQ(log.back(), "joined");
}

TEST_F(TaskGroupTest, AnExceptionEndsTheTaskAndGoesNoFurther) {
  group.spawn([]() -> Task<> {
    throw std::runtime_error("boom");
    co_return;
  }());
  spawn(join());
  settle();
  EXPECT_EQ(log, std::vector<std::string>{"joined"});
}

TEST_F(TaskGroupTest, TellsWhenItIsIdle) {
  group.when_idle([this] { note("idle at once"); });
  EXPECT_EQ(log, std::vector<std::string>{"idle at once"});
  group.spawn(work(first, "a"));
  group.when_idle([this] { note("replaced"); });
  group.when_idle([this] { note("idle"); });
  settle();
  first.open();
  settle();
  EXPECT_EQ(log, (std::vector<std::string>{"idle at once", "a begins", "a ends", "idle"}));
  group.spawn(work(first, "b"));
  settle();
  first.open();
  settle();
  EXPECT_EQ(log.back(), "b ends") << "it is told once";
}

TEST_F(TaskGroupTest, CanBeJoinedAgain) {
  for (int round = 0; round < 3; ++round) {
    group.spawn(work(first, "a"));
    spawn(join());
    settle();
    first.open();
    settle();
    EXPECT_EQ(log.back(), "joined");
    EXPECT_EQ(log.size(), static_cast<std::size_t>(3 * (round + 1)));
  }
}

}  // namespace
}  // namespace smg::net
