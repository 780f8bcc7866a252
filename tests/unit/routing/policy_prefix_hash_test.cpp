#include <gtest/gtest.h>

#include "routing/policies.hpp"
#include "unit/routing/simulated_fleet.hpp"

namespace smg::routing {
namespace {

using Tokens = std::vector<std::uint32_t>;

Tokens tokens_of(std::uint32_t i) {
  Tokens ids(1 + (i * 37) % 400);
  for (std::uint32_t j = 0; j < ids.size(); ++j) ids[j] = i * 2654435761U + j * 40503U;
  return ids;
}

std::string text_of(int i) {
  std::string text = "Frage " + std::to_string(i) + ": ";
  for (int k = 0; k < i % 300; ++k) text += "größer? ";
  return text;
}

int pick(SimulatedFleet& fleet, const RoutingRequest& request) {
  return fleet.number_of(&(*fleet.select(request))->worker());
}

struct Placement {
  std::vector<int> first;
  std::uint64_t checksum;
};

// The expectations come from another implementation of the same rule, over seven workers.
TEST(PrefixHash, PlacesTokensTextsAndKeysLikeTheOracle) {
  SimulatedFleet fleet(7, make_prefix_hash_policy({}, {}));
  const Placement by_tokens{{6, 2, 2, 3, 0, 0, 6, 4, 3, 6, 3, 3, 3, 3, 4, 3, 3, 0, 4, 6},
                            0x3d85d8951ca24f3aU};
  const Placement by_text{{4, 6, 2, 5, 4, 0, 5, 3, 2, 6, 1, 3, 2, 1, 6, 2, 2, 5, 2, 2},
                          0xe59ac2006b4e1429U};
  const Placement by_key{{5, 4, 4, 0, 5, 3, 5, 5, 6, 0, 2, 5, 5, 0, 4, 2, 5, 5, 0, 0},
                         0x71c5577333e9563eU};
  Checksum tokens;
  Checksum texts;
  Checksum keys;
  for (int i = 0; i < 2000; ++i) {
    const auto ids = tokens_of(static_cast<std::uint32_t>(i));
    const auto text = text_of(i);
    const auto key = "session-" + std::to_string(i);
    const int by[] = {pick(fleet, {.tokens = ids, .text = "tokens count"}),
                      pick(fleet, {.text = text}),
                      pick(fleet, {.routing_key = key, .tokens = ids, .text = text})};
    tokens.add(by[0]);
    texts.add(by[1]);
    keys.add(by[2]);
    if (i >= 20) continue;
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(by[0], by_tokens.first[at]) << i;
    EXPECT_EQ(by[1], by_text.first[at]) << i;
    EXPECT_EQ(by[2], by_key.first[at]) << i;
  }
  EXPECT_EQ(tokens.value(), by_tokens.checksum);
  EXPECT_EQ(texts.value(), by_text.checksum);
  EXPECT_EQ(keys.value(), by_key.checksum);
}

TEST(PrefixHash, OnlyTheHeadCounts) {
  config::PrefixHash tuning;
  tuning.token_count = 8;
  SimulatedFleet fleet(7, make_prefix_hash_policy(tuning, {}));
  for (std::uint32_t i = 0; i < 20; ++i) {
    Tokens ids = {i, 1, 2, 3, 4, 5, 6, 7};
    const int home = pick(fleet, {.tokens = ids});
    ids.insert(ids.end(), {i * 3, 99});
    EXPECT_EQ(pick(fleet, {.tokens = ids}), home);
    const std::string head = "ü" + std::to_string(1000 + i) + std::string(27, '-');
    EXPECT_EQ(pick(fleet, {.text = head + "and " + std::to_string(i)}),
              pick(fleet, {.text = head}));
  }
}

TEST(PrefixHash, WithNothingToHashTheFirstLeastLoadedIsTaken) {
  SimulatedFleet fleet(3, make_prefix_hash_policy({}, {}));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(pick(fleet, {}), 0);
  fleet.add_load(0, 1);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(pick(fleet, {}), 1);
}

TEST(PrefixHash, PassesByAnOverloadedWorker) {
  struct {
    std::uint64_t abs_threshold;
    double factor;
    int stays;  ///< requests in flight at home with which the next one still goes there
  } const cases[] = {
      // Two workers: with n in flight, all at home, the limit is max((n+1)/2*factor, (n+1)/2+abs).
      {1, 1.25, 3},
      {10, 1.25, 21},
      {1, 1.9, 19},
      {0, 1.0, 1},
  };
  for (const auto& [abs_threshold, factor, stays] : cases) {
    config::PrefixHash tuning;
    tuning.balance_abs_threshold = abs_threshold;
    tuning.load_factor = factor;
    SimulatedFleet fleet(2, make_prefix_hash_policy(tuning, {}));
    const int home = pick(fleet, {.text = "same"});
    fleet.add_load(static_cast<std::size_t>(home), stays);
    EXPECT_EQ(pick(fleet, {.text = "same"}), home) << abs_threshold << " " << factor;
    fleet.add_load(static_cast<std::size_t>(home), 1);
    EXPECT_NE(pick(fleet, {.text = "same"}), home) << abs_threshold << " " << factor;
  }
}

TEST(PrefixHash, BoundariesHashTheDeepestHeadTheyReach) {
  SimulatedFleet fleet(7, make_prefix_hash_policy({}, {4, 16}));
  SimulatedFleet plain(7, make_prefix_hash_policy({}, {}));
  const auto ids = tokens_of(10);
  ASSERT_GT(ids.size(), 256U);
  struct {
    std::size_t length;
    std::size_t hashed;
  } const cases[] = {{3, 3}, {4, 4}, {15, 4}, {16, 16}, {200, 16}};
  for (const auto& [length, hashed] : cases) {
    const std::span<const std::uint32_t> all(ids);
    EXPECT_EQ(pick(fleet, {.tokens = all.first(length)}),
              pick(plain, {.tokens = all.first(hashed)}))
        << length;
    const std::string_view words =
        "0123456789abcdefghijklmnopqrstuvwxyz0123456789abcdefghijklmnopqrs";
    const auto characters = std::min<std::size_t>(length * 4, words.size());
    EXPECT_EQ(pick(fleet, {.text = words.substr(0, characters)}),
              pick(plain, {.text = words.substr(0, hashed * 4)}))
        << length;
  }
}

TEST(PrefixHash, AnOverloadedDeepHeadFallsToAShorterOne) {
  config::PrefixHash tuning;
  tuning.balance_abs_threshold = 0;
  tuning.load_factor = 1;
  SimulatedFleet fleet(7, make_prefix_hash_policy(tuning, {4, 16}));
  int differ = 0;
  for (std::uint32_t i = 0; i < 30; ++i) {
    const Tokens ids = {i, 7, 7, 7, i, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 1};
    const int shallow = pick(fleet, {.tokens = std::span(ids).first(4)});
    const int deep = pick(fleet, {.tokens = ids});
    if (shallow == deep) continue;
    ++differ;
    fleet.add_load(static_cast<std::size_t>(deep), 3);
    EXPECT_EQ(pick(fleet, {.tokens = ids}), shallow) << i;
    fleet.end_requests();
  }
  EXPECT_GT(differ, 10);
}

TEST(PrefixHash, DoesNotAskForTheBody) {
  EXPECT_FALSE(make_prefix_hash_policy({}, {})->reads_prompt());
}

}  // namespace
}  // namespace smg::routing
