#include "routing/prefix_trees.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace smg::routing {
namespace {

constexpr std::uint64_t kPlenty = 1U << 24U;

std::vector<std::uint32_t> holders_of(const PrefixTree::Match& match) {
  return {match.holders.begin(), match.holders.begin() + static_cast<long>(match.holder_count)};
}

std::string long_text(char c, std::size_t length = 200) {
  return std::string(length, c);
}

TEST(PrefixTree, MatchesTheLongestKnownPrefix) {
  PrefixTree tree(1, kPlenty);
  tree.insert("hello world", 1);
  tree.insert("hello there", 2);
  tree.insert("help", 3);
  struct {
    std::string_view prompt;
    std::size_t bytes;
    std::set<std::uint32_t> holders;
  } const cases[] = {
      {"", 0, {}},
      {"x", 0, {}},
      {"h", 1, {1, 2, 3}},
      {"hel", 3, {1, 2, 3}},
      {"hello", 5, {1, 2}},
      {"hello ", 6, {1, 2}},
      {"hello w", 7, {1}},
      {"hello world", 11, {1}},
      {"hello world and more", 11, {1}},
      {"hello thunder", 8, {2}},
      {"helping", 4, {3}},
  };
  for (const auto& [prompt, bytes, expected] : cases) {
    const auto match = tree.match(prompt);
    const auto holders = holders_of(match);
    EXPECT_EQ(match.bytes, bytes) << prompt;
    EXPECT_EQ(std::set<std::uint32_t>(holders.begin(), holders.end()), expected) << prompt;
  }
}

TEST(PrefixTree, APromptThatIsThePrefixOfAnotherEndsThere) {
  PrefixTree tree(1, kPlenty);
  tree.insert("abcdef", 1);
  tree.insert("abc", 2);
  EXPECT_EQ(holders_of(tree.match("abcdef")), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(holders_of(tree.match("abc")), (std::vector<std::uint32_t>{2, 1}));
}

TEST(PrefixTree, TheLastHolderIsFirst) {
  PrefixTree tree(1, kPlenty);
  for (const std::uint32_t holder : {1U, 2U, 3U, 1U}) tree.insert("abc", holder);
  EXPECT_EQ(holders_of(tree.match("abc")), (std::vector<std::uint32_t>{1, 3, 2}));
}

TEST(PrefixTree, CountsWholeUnits) {
  PrefixTree tree(4, kPlenty);
  tree.insert("aaaabbbbcccc+++", 1);
  tree.insert("aaaabbxxdddd", 2);
  struct {
    std::string_view prompt;
    std::size_t bytes;
    std::set<std::uint32_t> holders;
  } const cases[] = {
      {"aaa", 0, {}},
      {"aaaX", 0, {}},
      {"aaaabbbb", 8, {1}},
      {"aaaabbbbcc", 8, {1}},
      {"aaaabbbbcccc+++", 12, {1}},
      // Both know six bytes, but only the first unit is whole.
      {"aaaabbzz", 4, {1, 2}},
      {"aaaabbxxddde", 8, {2}},
  };
  for (const auto& [prompt, bytes, expected] : cases) {
    const auto match = tree.match(prompt);
    const auto holders = holders_of(match);
    EXPECT_EQ(match.bytes, bytes) << prompt;
    EXPECT_EQ(std::set<std::uint32_t>(holders.begin(), holders.end()), expected) << prompt;
  }
}

TEST(PrefixTree, ForgetsTheLeastRecentlyUsedFirst) {
  PrefixTree tree(1, 600);
  for (const char c : {'a', 'b', 'c'}) tree.insert(long_text(c), 1);
  EXPECT_EQ(tree.size(), 600U);
  tree.insert(long_text('a'), 1);
  tree.insert(long_text('d'), 1);
  EXPECT_EQ(tree.size(), 600U);
  for (const char c : {'a', 'c', 'd'}) EXPECT_EQ(tree.match(long_text(c)).bytes, 200U) << c;
  EXPECT_EQ(tree.match(long_text('b')).bytes, 0U);
}

TEST(PrefixTree, ForgetsEndsBeforeBeginningsAndHolderByHolder) {
  PrefixTree tree(1, 700);
  const auto system = long_text('s');
  tree.insert(system + long_text('a', 100), 1);
  tree.insert(system + long_text('b', 100), 2);
  EXPECT_EQ(tree.size(), 600U);
  tree.insert(system + long_text('c', 200), 2);
  // What only worker 1 knew went; the beginning is still worker 2's.
  EXPECT_EQ(tree.match(system + long_text('a', 100)).bytes, 200U);
  EXPECT_EQ(holders_of(tree.match(system)).front(), 2U);
  EXPECT_EQ(tree.match(system + long_text('b', 100)).bytes, 300U);
  EXPECT_LE(tree.size(), 700U);
}

TEST(PrefixTree, APromptAboveTheBudgetLeavesNothingBehind) {
  PrefixTree tree(1, 100);
  tree.insert(long_text('a'), 1);
  EXPECT_EQ(tree.size(), 0U);
  EXPECT_EQ(tree.match(long_text('a')).bytes, 0U);
  tree.insert(long_text('a', 100), 1);
  EXPECT_EQ(tree.match(long_text('a')).bytes, 100U);
}

TEST(PrefixTree, AChainOfGrowingPromptsCanBeTornDown) {
  PrefixTree tree(1, kPlenty);
  std::string prompt;
  for (int i = 0; i < 20000; ++i) {
    prompt += "ab"[i % 2];
    if (i % 7 == 0) tree.insert(prompt, 1);
  }
  EXPECT_EQ(tree.match(prompt).bytes, 20000U);
}

/// The definition, spelt out: all prompts of all holders.
struct Memory {
  std::map<std::uint32_t, std::set<std::string>> prompts;

  [[nodiscard]] static std::size_t common(const std::string& a, const std::string& b) {
    return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                                    a.begin());
  }
  [[nodiscard]] std::pair<std::size_t, std::set<std::uint32_t>> match(const std::string& prompt,
                                                                      std::size_t unit) const {
    std::map<std::uint32_t, std::size_t> depth;
    std::size_t deepest = 0;
    for (const auto& [holder, known] : prompts) {
      for (const auto& text : known) {
        const auto whole = common(prompt, text) / unit * unit;
        depth[holder] = std::max(depth[holder], whole);
        deepest = std::max(deepest, whole);
      }
    }
    std::set<std::uint32_t> holders;
    for (const auto& [holder, reached] : depth) {
      if (reached == deepest && deepest > 0) holders.insert(holder);
    }
    return {deepest, holders};
  }
};

TEST(PrefixTree, AgreesWithItsDefinitionOnRandomPrompts) {
  std::mt19937 random(7);
  for (const std::size_t unit : {1U, 4U}) {
    PrefixTree tree(unit, kPlenty);
    Memory memory;
    for (int round = 0; round < 1500; ++round) {
      std::string prompt(random() % 24, ' ');
      for (char& c : prompt) c = "abc"[random() % 3];
      prompt.resize(prompt.size() / unit * unit);
      const auto [bytes, holders] = memory.match(prompt, unit);
      const auto match = tree.match(prompt);
      const auto found = holders_of(match);
      ASSERT_EQ(match.bytes, bytes) << prompt;
      ASSERT_EQ(std::set<std::uint32_t>(found.begin(), found.end()), holders) << prompt;
      const std::uint32_t holder = random() % 5;
      tree.insert(prompt, holder);
      memory.prompts[holder].insert(prompt);
    }
  }
}

TEST(PrefixTree, KeepsItsBudgetUnderRandomUse) {
  std::mt19937 random(11);
  PrefixTree tree(1, 20000);
  for (int round = 0; round < 20000; ++round) {
    std::string prompt(random() % 300, ' ');
    for (char& c : prompt) c = random() % 9 == 0 ? 'b' : 'a';
    tree.insert(prompt, random() % 4);
    ASSERT_LE(tree.size(), 20000U);
    ASSERT_LE(tree.match(prompt).bytes, prompt.size());
  }
  EXPECT_GT(tree.size(), 10000U);
}

TEST(PrefixTree, ServesSeveralThreads) {
  PrefixTree tree(1, 50000);
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (std::uint32_t holder = 0; holder < 4; ++holder) {
    threads.emplace_back([&tree, holder] {
      for (int i = 0; i < 2000; ++i) {
        const auto prompt = long_text(static_cast<char>('a' + i % 26)) + std::to_string(i);
        tree.insert(prompt, holder);
        EXPECT_LE(tree.match(prompt).bytes, prompt.size());
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_LE(tree.size(), 50000U);
}

/// The sums that are kept are those of the pieces that are there, through splits and drops.
TEST(PrefixTree, ContentsFollowWhatIsHeld) {
  PrefixTree tree(1, 4 * PrefixTree::kMinPieceBytes);
  EXPECT_EQ(tree.contents().bytes, 0U);
  tree.insert("hello world", 1);
  EXPECT_EQ(tree.contents().bytes, 11U);
  tree.insert("hello there", 2);
  EXPECT_EQ(tree.contents().bytes, 22U) << "split, and held by two up to there";
  EXPECT_EQ(tree.contents().holders.size(), 2U);
  tree.insert("xyz", 3);  // drops the oldest end, that of worker 1
  EXPECT_EQ(tree.contents().bytes, 22U - 5U + 3U);
  EXPECT_EQ(tree.contents().holders.size(), 3U);
  for (const char* text : {"aaa", "bbb", "ccc", "ddd"}) tree.insert(text, 4);
  EXPECT_EQ(tree.contents().bytes, 12U);
  EXPECT_EQ(tree.contents().holders, (std::vector<std::uint32_t>{4}));
}

}  // namespace
}  // namespace smg::routing
