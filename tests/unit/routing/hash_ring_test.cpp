#include "routing/hash_ring.hpp"

#include <string>

#include <gtest/gtest.h>

#include "unit/routing/simulated_fleet.hpp"

namespace smg::routing {
namespace {

const std::vector<std::string> kUrls = {
    "http://10.0.0.1:8000", "http://10.0.0.2:8000", "http://10.0.0.3:8000", "http://10.0.0.4:8000",
    "http://10.0.0.5:8000", "http://10.0.0.6:8000", "http://10.0.0.7:8000"};

HashRing ring_of_seven() {
  return HashRing({kUrls.begin(), kUrls.end()});
}

std::string key_of(int i) {
  return "session-" + std::to_string(i);
}

// The expectations come from another implementation of the same rule.
TEST(HashRing, PlacesKeysLikeTheOracle) {
  struct {
    std::vector<std::uint32_t> out;
    std::vector<int> first;
    std::uint64_t checksum;
  } const cases[] = {
      {{}, {3, 0, 3, 5, 6, 6, 4, 5, 4, 0, 5, 5, 6, 3, 0, 4, 0, 3, 3, 4}, 0xd3a970d18313420aU},
      {{2, 5}, {3, 0, 3, 1, 6, 6, 4, 3, 4, 0, 6, 1, 6, 3, 0, 4, 0, 3, 3, 4}, 0xbfe556ef113c0a3aU},
  };
  const auto ring = ring_of_seven();
  for (const auto& [out, first, checksum] : cases) {
    Checksum sum;
    for (int i = 0; i < 2000; ++i) {
      const auto owner = ring.owner(key_of(i), [&](std::uint32_t member) {
        return std::find(out.begin(), out.end(), member) == out.end();
      });
      ASSERT_TRUE(owner);
      const int number = static_cast<int>(*owner);
      if (i < 20) EXPECT_EQ(number, first[static_cast<std::size_t>(i)]) << key_of(i);
      sum.add(number);
    }
    EXPECT_EQ(sum.value(), checksum);
  }
}

TEST(HashRing, AMemberThatGoesMovesOnlyItsOwnKeys) {
  const auto ring = ring_of_seven();
  const auto everybody = [](std::uint32_t) { return true; };
  const auto all_but_four = [](std::uint32_t member) { return member != 4; };
  int moved = 0;
  for (int i = 0; i < 500; ++i) {
    const auto before = ring.owner(key_of(i), everybody);
    const auto after = ring.owner(key_of(i), all_but_four);
    EXPECT_EQ(before == after, before != 4U) << key_of(i);
    moved += before == after ? 0 : 1;
  }
  EXPECT_GT(moved, 20);
}

TEST(HashRing, MadeFromASimilarOneIsTheSame) {
  const std::vector<std::string_view> lists[] = {
      {kUrls.begin(), kUrls.end()},
      {kUrls[0], kUrls[2], kUrls[6]},            // some gone
      {kUrls[6], kUrls[2], kUrls[1], kUrls[0]},  // another order, one back
      {"http://10.9.9.9:1", kUrls[3]},           // one new
      {},
      {kUrls.begin(), kUrls.end()},
  };
  HashRing grown(lists[0]);
  for (const auto& names : lists) {
    grown = HashRing(names, grown);
    const HashRing fresh(names);
    const auto everybody = [](std::uint32_t) { return true; };
    for (int i = 0; i < 500; ++i) {
      EXPECT_EQ(grown.owner(key_of(i), everybody), fresh.owner(key_of(i), everybody)) << key_of(i);
    }
  }
}

TEST(HashRing, HasNoOwnerIfNobodyIsAccepted) {
  EXPECT_FALSE(ring_of_seven().owner("k", [](std::uint32_t) { return false; }));
  EXPECT_FALSE(
      HashRing(std::vector<std::string_view>{}).owner("k", [](std::uint32_t) { return true; }));
}

}  // namespace
}  // namespace smg::routing
