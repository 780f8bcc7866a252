#include "routing/hash_index.hpp"

#include <gtest/gtest.h>

#include "unit/routing/simulated_fleet.hpp"

namespace smg::routing {
namespace {

using Serials = std::vector<std::uint32_t>;

TEST(HashIndex, KeepsTheLastThreeHolders) {
  HashIndex index(std::chrono::seconds(180));
  EXPECT_EQ(index.holders(7, at_second(0)), Serials());
  for (const std::uint32_t holder : {1U, 2U, 3U, 1U, 4U}) index.record(7, holder, at_second(0));
  EXPECT_EQ(index.holders(7, at_second(1)), (Serials{4, 1, 3}));
  EXPECT_EQ(index.holders(8, at_second(1)), Serials());
}

TEST(HashIndex, ForgetsEachHolderInItsTime) {
  HashIndex index(std::chrono::seconds(10));
  index.record(7, 0, at_second(0));
  index.record(7, 2, at_second(5));
  EXPECT_EQ(index.holders(7, at_second(9)), (Serials{2, 0}));
  EXPECT_EQ(index.holders(7, at_second(10)), (Serials{2}));
  EXPECT_EQ(index.holders(7, at_second(15)), Serials());
  index.record(7, 0, at_second(16));
  EXPECT_EQ(index.holders(7, at_second(20)), (Serials{0}));
}

TEST(HashIndex, DropsWhatHasExpired) {
  HashIndex index(std::chrono::seconds(10));
  for (std::uint64_t head = 0; head < 100; ++head) index.record(head, 1, at_second(0));
  EXPECT_EQ(index.size(), 100U);
  for (std::uint64_t head = 100; head < 200; ++head) index.record(head, 1, at_second(60));
  EXPECT_EQ(index.size(), 100U);
}

}  // namespace
}  // namespace smg::routing
