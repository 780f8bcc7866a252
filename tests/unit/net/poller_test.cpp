#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <smg/net/poller.hpp>

namespace smg::net {
namespace {

constexpr std::chrono::milliseconds kNow{0};

/// A descriptor that is readable once it was raised.
class Signal final : public Watched {
 public:
  explicit Signal(Poller& poller) : poller_(poller) {
    if (!poller_.add(descriptor_, EPOLLIN | EPOLLET, *this)) throw std::runtime_error("add");
  }
  ~Signal() {
    poller_.remove(descriptor_, *this);
    ::close(descriptor_);
  }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  void raise() const { EXPECT_EQ(::eventfd_write(descriptor_, 1), 0); }

  std::vector<std::uint32_t> seen;
  std::function<void()> then;

 private:
  void on_events(std::uint32_t events) override {
    seen.push_back(events);
    if (then) then();
  }

  Poller& poller_;
  int descriptor_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
};

TEST(Poller, TellsEachEdgeOnce) {
  Poller poller;
  Signal signal(poller);
  poller.poll(kNow);
  EXPECT_TRUE(signal.seen.empty());
  for (std::size_t edges = 1; edges <= 3; ++edges) {
    signal.raise();
    poller.poll(kNow);
    poller.poll(kNow);
    EXPECT_EQ(signal.seen.size(), edges);
  }
  EXPECT_EQ(signal.seen.back(), static_cast<std::uint32_t>(EPOLLIN));
}

TEST(Poller, MayHaveNewsOfWhomAFullBatchLeftOut) {
  Poller poller;
  std::vector<std::unique_ptr<Signal>> signals;
  for (int i = 0; i < 200; ++i) {  // more than are told in a turn
    signals.push_back(std::make_unique<Signal>(poller));
    signals.back()->raise();
  }
  const auto untold = [](const auto& signal) { return signal->seen.empty(); };
  bool knows = true;
  for (const auto& signal : signals) {
    signal->then = [&] {
      knows = knows && std::all_of(signals.begin(), signals.end(), [&](const auto& other) {
                return !untold(other) || poller.has_news_of(*other);
              });
    };
  }
  poller.poll(kNow);
  EXPECT_TRUE(knows);
  EXPECT_GT(std::count_if(signals.begin(), signals.end(), untold), 0) << "all were told at once";
  poller.poll(kNow);
  EXPECT_EQ(std::count_if(signals.begin(), signals.end(), untold), 0);
  poller.poll(kNow);
  EXPECT_FALSE(poller.has_news_of(*signals.front()));
}

TEST(Poller, MissesNothingWhileEventsGather) {
  Poller poller;
  Signal signal(poller);
  signal.then = [&] { poller.expect_more(); };
  for (std::size_t edges = 1; edges <= 50; ++edges) {
    signal.raise();
    poller.poll(std::chrono::milliseconds(-1));
    EXPECT_EQ(signal.seen.size(), edges);
  }
}

TEST(Poller, OneMayDestroyAnotherThatIsDueInTheSameTurn) {
  Poller poller;
  auto first = std::make_unique<Signal>(poller);
  auto second = std::make_unique<Signal>(poller);
  first->then = [&] { second.reset(); };
  second->then = [&] { first.reset(); };
  first->raise();
  second->raise();
  poller.poll(kNow);
  EXPECT_NE(first == nullptr, second == nullptr) << "the one that is gone was not told";
}

TEST(Poller, DeferredCallsComeInTheNextTurnWithoutAnEvent) {
  Poller poller;
  Signal signal(poller);
  int turns = 0;
  signal.then = [&] {
    if (++turns < 3) poller.defer(signal);
  };
  poller.defer(signal);
  EXPECT_TRUE(signal.seen.empty());
  for (std::size_t turn = 1; turn <= 3; ++turn) {
    // A deferred call is not kept waiting, whatever the timeout.
    poller.poll(std::chrono::hours(1));
    EXPECT_EQ(signal.seen, std::vector<std::uint32_t>(turn, 0U));
  }
}

TEST(Poller, ADeferredCallToWhatIsGoneIsDropped) {
  Poller poller;
  Signal kept(poller);
  auto gone = std::make_unique<Signal>(poller);
  poller.defer(*gone);
  poller.defer(kept);
  gone.reset();
  poller.poll(kNow);
  EXPECT_EQ(kept.seen.size(), 1U);
}

TEST(Poller, WhatAnExceptionCutsOffIsMadeUpFor) {
  Poller poller;
  Signal first(poller);
  Signal second(poller);
  first.then = second.then = [] { throw std::runtime_error("boom"); };
  first.raise();
  second.raise();
  EXPECT_THROW(poller.poll(kNow), std::runtime_error);
  EXPECT_EQ(first.seen.size() + second.seen.size(), 1U);
  EXPECT_THROW(poller.poll(kNow), std::runtime_error);
  EXPECT_EQ(first.seen.size(), 1U);
  EXPECT_EQ(second.seen.size(), 1U);
}

TEST(Poller, AWakeEndsTheWaitEvenBeforeIt) {
  Poller poller;
  for (int i = 0; i < 3; ++i) {
    poller.expect_wake();
    poller.wake();
    poller.wake();
    poller.poll(std::chrono::hours(1));
  }
  SUCCEED() << "it would have waited for an hour";
}

}  // namespace
}  // namespace smg::net
