#include "routing/sticky_sessions.hpp"

#include <thread>

#include <gtest/gtest.h>

#include "unit/routing/simulated_fleet.hpp"
#include "unit/routing/test_fleet.hpp"

namespace smg::routing {
namespace {

class PinMapTest : public testing::Test {
 protected:
  int find(PinMap& pins, std::string_view key, const std::vector<std::size_t>& out = {},
           int second = 0) {
    return fleet_.number_of(pins.find(key, fleet_.without(out), at_second(second)).worker);
  }
  int pin(PinMap& pins, std::string_view key, std::size_t chosen, PinOrder order,
          const std::vector<std::size_t>& out = {}, int second = 0) {
    return fleet_.number_of(
        pins.pin(key, fleet_[chosen], fleet_.without(out), order, at_second(second)));
  }

  SimulatedFleet fleet_{4};
};

TEST_F(PinMapTest, RemembersTheFirstWorkerPinned) {
  PinMap pins(std::chrono::seconds(0));
  EXPECT_EQ(find(pins, "a"), -1);
  EXPECT_EQ(pin(pins, "a", 2, PinOrder::Behind), 2);
  EXPECT_EQ(find(pins, "a"), 2);
  EXPECT_EQ(find(pins, "b"), -1);
  // Somebody else was quicker.
  EXPECT_EQ(pin(pins, "a", 1, PinOrder::Before), 2);
}

TEST_F(PinMapTest, BehindReturnsToTheFirstWorker) {
  PinMap pins(std::chrono::seconds(0));
  pin(pins, "a", 0, PinOrder::Behind);
  EXPECT_EQ(find(pins, "a", {0}), -1);
  EXPECT_EQ(pin(pins, "a", 1, PinOrder::Behind, {0}), 1);
  EXPECT_EQ(find(pins, "a", {0}), 1);
  EXPECT_EQ(find(pins, "a"), 0);
  // Two places: the oldest pin makes room.
  EXPECT_EQ(pin(pins, "a", 2, PinOrder::Behind, {0, 1}), 2);
  EXPECT_EQ(find(pins, "a"), 1);
  EXPECT_EQ(find(pins, "a", {1}), 2);
}

TEST_F(PinMapTest, BeforeStaysAtTheNewWorker) {
  PinMap pins(std::chrono::seconds(0));
  pin(pins, "a", 0, PinOrder::Before);
  EXPECT_EQ(pin(pins, "a", 1, PinOrder::Before, {0}), 1);
  EXPECT_EQ(find(pins, "a"), 1);
  EXPECT_EQ(find(pins, "a", {1}), 0);
  pins.move("a", fleet_[3], at_second(0));
  EXPECT_EQ(find(pins, "a"), 3);
  EXPECT_EQ(find(pins, "a", {3}), 1);
}

TEST_F(PinMapTest, ForgetsIdleSessions) {
  PinMap pins(std::chrono::seconds(10));
  pin(pins, "a", 0, PinOrder::Behind);
  EXPECT_EQ(find(pins, "a", {}, 9), 0);
  EXPECT_EQ(find(pins, "a", {}, 18), 0);
  EXPECT_EQ(find(pins, "a", {}, 28), -1);
  for (int i = 0; i < 1000; ++i) pin(pins, "k" + std::to_string(i), 0, PinOrder::Behind, {}, 30);
  EXPECT_EQ(pins.size(), 1000U);
  for (int i = 0; i < 2000; ++i) pin(pins, "n" + std::to_string(i), 0, PinOrder::Behind, {}, 60);
  EXPECT_LT(pins.size(), 2100U);
}

TEST_F(PinMapTest, KeepsIdleSessionsWithoutALimit) {
  PinMap pins(std::chrono::seconds(0));
  pin(pins, "a", 0, PinOrder::Behind);
  EXPECT_EQ(find(pins, "a", {}, 1000000), 0);
}

TEST_F(PinMapTest, AllWhoPinAtOnceGetOneWorker) {
  PinMap pins(std::chrono::seconds(0));
  std::array<int, 4> got{};
  std::vector<std::thread> threads;
  threads.reserve(got.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    threads.emplace_back([&, i] { got[i] = pin(pins, "a", i, PinOrder::Behind); });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(got, (std::array{got[0], got[0], got[0], got[0]}));
}

TEST(ActiveSessions, CountsRequestsByKeyAndWorker) {
  SimulatedFleet fleet(2);
  const auto sessions = std::make_shared<ActiveSessions>();
  auto first = ActiveSessions::begin(sessions, "a", fleet[0]);
  auto second = ActiveSessions::begin(sessions, "a", fleet[0]);
  const auto elsewhere = ActiveSessions::begin(sessions, "a", fleet[1]);
  auto other = ActiveSessions::begin(sessions, "b", fleet[0]);
  EXPECT_EQ(sessions->count("a", fleet[0]), 2U);
  EXPECT_EQ(sessions->count("a", fleet[1]), 1U);
  EXPECT_EQ(sessions->count("c", fleet[0]), 0U);
  EXPECT_EQ(fleet[0].active_keys(), 2U);
  first.reset();
  EXPECT_EQ(sessions->count("a", fleet[0]), 1U);
  EXPECT_EQ(fleet[0].active_keys(), 2U);
  second.reset();
  EXPECT_EQ(sessions->count("a", fleet[0]), 0U);
  EXPECT_EQ(fleet[0].active_keys(), 1U);
  other.reset();
  EXPECT_EQ(fleet[0].active_keys(), 0U);
  EXPECT_EQ(fleet[1].active_keys(), 1U);
}

TEST(ActiveSessions, AWorkerThatRegistersAgainKeepsThem) {
  TestFleet fleet;
  Worker& before = fleet.add();
  Worker after(before.facts(), nullptr, fleet.metrics.open_worker_series("http://w0"), &before);
  const auto sessions = std::make_shared<ActiveSessions>();
  auto early = ActiveSessions::begin(sessions, "a", before);
  auto late = ActiveSessions::begin(sessions, "a", after);
  EXPECT_EQ(sessions->count("a", after), 2U);
  EXPECT_EQ(after.active_keys(), 1U) << "one session";
  early.reset();
  EXPECT_EQ(sessions->count("a", after), 1U);
  late.reset();
  EXPECT_EQ(after.active_keys(), 0U);
}

}  // namespace
}  // namespace smg::routing
