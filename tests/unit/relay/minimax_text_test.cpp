#include "relay/minimax_text.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace smg::relay::minimax {
namespace {

std::string repeated(std::string_view character, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += character;
  return text;
}

TEST(MinimaxText, SliceLengthsOfEveryAmount) {
  for (std::size_t held = 1; held <= 2000; ++held) {
    const auto length = slice_length(held);
    EXPECT_LE(length, kLongestSlice) << held;
    EXPECT_GE(length, std::min<std::size_t>(held, 156)) << held;
    EXPECT_TRUE(held == length || held - length >= kShortestTail) << held;
  }
  EXPECT_EQ(slice_length(160), 160U);
  EXPECT_EQ(slice_length(161), 156U);
  EXPECT_EQ(slice_length(164), 159U);
  EXPECT_EQ(slice_length(165), 160U);
}

TEST(MinimaxText, SlicesAreWholeCharacters) {
  const Slot slot;
  for (const std::string_view character : {"a", "\u00e9", "\u6f22", "\U0001F600"}) {
    for (const std::size_t count : {1U, 79U, 160U, 161U, 165U, 500U}) {
      PendingText pending;
      pending.add(slot, repeated(character, count));
      std::string joined;
      while (pending.characters() != 0) {
        const auto length = slice_length(pending.characters());
        const auto slice = pending.take_slice();
        EXPECT_EQ(slice, repeated(character, length)) << count;
        joined += slice;
      }
      EXPECT_EQ(joined, repeated(character, count));
    }
  }
}

TEST(MinimaxText, TextIsAddedBehindWhatAnEarlierCutLeft) {
  const Slot slot{TextField::Arguments, "7"};
  PendingText pending;
  for (int round = 0; round < 1000; ++round) {
    const std::size_t before = pending.characters();
    pending.add(slot, repeated("\u00e9", 161));
    EXPECT_EQ(pending.characters(), before + 161);
    while (pending.characters() > 60) {
      const auto length = slice_length(pending.characters());
      EXPECT_EQ(pending.take_slice(), repeated("\u00e9", length));
    }
  }
  EXPECT_EQ(pending.slot(), slot);
}

}  // namespace
}  // namespace smg::relay::minimax
