#include "net/descriptor_reserve.hpp"

#include <climits>

#include <gtest/gtest.h>

namespace smg::net {
namespace {

TEST(DescriptorReserve, IsTheEndOfWhatTheLimitAllows) {
  const struct {
    std::uint64_t limit;
    int first;
  } cases[] = {
      {1048576, 1048560}, {1024, 1008}, {256, 240}, {128, 112},
      {64, 56},           {8, 7},       {0, 0},     {UINT64_MAX, INT_MAX},
  };
  for (const auto& c : cases) EXPECT_EQ(first_reserved_descriptor(c.limit), c.first) << c.limit;
}

TEST(DescriptorReserve, IsFarFromATest) {
  EXPECT_FALSE(only_reserved_descriptors_left(0));
}

}  // namespace
}  // namespace smg::net
