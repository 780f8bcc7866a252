#include "smg/observability/tally.hpp"

#include <barrier>
#include <set>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace smg::observability {
namespace {

/// The numbers of `threads` threads that live at one time.
std::set<std::size_t> numbers_of(int threads) {
  std::vector<std::size_t> numbers(static_cast<std::size_t>(threads));
  std::barrier all_numbered(threads);
  std::vector<std::thread> running;
  for (std::size_t& number : numbers) {
    running.emplace_back([&] {
      number = thread_number();
      EXPECT_EQ(thread_number(), number);
      all_numbered.arrive_and_wait();
    });
  }
  for (auto& thread : running) thread.join();
  return {numbers.begin(), numbers.end()};
}

TEST(ThreadNumber, IsOfOneThreadAtATimeAndHandedOn) {
  const std::size_t own = thread_number();
  const auto first = numbers_of(20);
  EXPECT_EQ(first.size(), 20U);
  EXPECT_FALSE(first.contains(own));
  EXPECT_EQ(numbers_of(20), first);
  EXPECT_EQ(thread_number(), own);
}

/// Counts when its thread ends.
struct LateCounter {
  ~LateCounter() {
    if (tally == nullptr) return;
    tally->count(0);
    *number = thread_number();
  }
  Tally<1>* tally = nullptr;
  std::size_t* number = nullptr;
};

TEST(ThreadNumber, ThreadThatHasGivenItsNumberBackCountsElsewhere) {
  Tally<1> tally;
  std::size_t first = 0;
  std::size_t last = 0;
  std::thread([&] {
    thread_local LateCounter late;  // older than the number, and so destroyed after it
    late.tally = &tally;
    late.number = &last;
    tally.count(0);
    first = thread_number();
  }).join();
  EXPECT_EQ(tally.total(0), 2U);
  EXPECT_NE(last, first);
}

}  // namespace
}  // namespace smg::observability
