#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "unit/relay/minimax_stream.hpp"

namespace smg::relay {
namespace {

using namespace test;
using Lengths = std::vector<std::size_t>;

/// The specification's table, by its rows instead of by the rule behind them.
struct Expected {
  Lengths at_once;
  std::size_t kept;
};

Expected expected_for(std::size_t n) {
  const std::size_t period = n < 80 ? 0 : (n - 80) / 160;
  const std::size_t in_row = n - period * 160;
  Expected expected{Lengths(period, 160), 0};
  if (in_row < 80) {
    expected.kept = in_row;
  } else if (in_row <= 160) {
    expected.at_once.push_back(in_row);
  } else if (in_row <= 164) {
    expected.at_once.push_back(in_row - 5);
    expected.kept = 5;
  } else {
    expected.at_once.push_back(160);
    expected.kept = in_row - 160;
  }
  return expected;
}

std::string letters(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += static_cast<char>('a' + i % 26);
  return text;
}

std::string joined(std::string_view body) {
  std::string all;
  for (const auto& [name, text] : texts(body)) all += text;
  return all;
}

void expect_cut(const std::string& name, const std::string& piece, const std::string& text) {
  MinimaxReslicer reslicer;
  const auto expected = expected_for(characters(text));
  const auto at_once = fed(reslicer, piece);
  EXPECT_EQ(lengths(at_once), expected.at_once) << name << ' ' << characters(text);
  EXPECT_EQ(reslicer.has_pending(), expected.kept != 0);
  reslicer.idle();
  const auto flushed = drained(reslicer);
  EXPECT_EQ(lengths(flushed), expected.kept == 0 ? Lengths{} : Lengths{expected.kept});
  EXPECT_FALSE(reslicer.has_pending());
  EXPECT_EQ(joined(at_once + flushed), text);
}

TEST(MinimaxSlicing, OneEventOfEveryLengthInEveryField) {
  for (std::size_t n = 1; n <= 500; ++n) {
    const auto text = letters(n);
    for (const std::string_view name : {"reasoning_content", "reasoning", "content"}) {
      expect_cut(std::string{name}, field(name, text), text);
    }
    expect_cut("arguments", arguments("0", text), text);
  }
}

TEST(MinimaxSlicing, ARowOfTheTableIsAsTheSpecificationSays) {
  EXPECT_EQ(expected_for(79).at_once, Lengths{});
  EXPECT_EQ(expected_for(164).at_once, Lengths{159});
  EXPECT_EQ(expected_for(239).at_once, Lengths{160});
  EXPECT_EQ(expected_for(240).at_once, (Lengths{160, 80}));
  EXPECT_EQ(expected_for(321).at_once, (Lengths{160, 156}));
  EXPECT_EQ(expected_for(484).at_once, (Lengths{160, 160, 159}));
  EXPECT_EQ(expected_for(484).kept, 5U);
}

TEST(MinimaxSlicing, EventsOfOneSizeAreGathered) {
  struct Case {
    std::size_t size;
    std::size_t count;
    Lengths expected;
  };
  const Case cases[] = {
      {1, 500, {80, 80, 80, 80, 80, 80, 20}},
      {2, 41, {80, 2}},
      {3, 100, {81, 81, 81, 57}},
      {7, 60, {84, 84, 84, 84, 84}},
      {30, 10, {90, 90, 90, 30}},
      {79, 5, {158, 158, 79}},
      {80, 3, {80, 80, 80}},
      {81, 3, {81, 81, 81}},
      {155, 3, {155, 155, 155}},
      {161, 2, {156, 160, 6}},
  };
  for (const auto& [size, count, expected] : cases) {
    std::string wire;
    for (std::size_t i = 0; i < count; ++i) wire += content(std::string(size, 'x'));
    for (const std::size_t piece : {1U, 64U, 1'000'000U}) {
      EXPECT_EQ(lengths(resliced(wire + kDone, piece)), expected) << size << '*' << count;
    }
  }
}

/// `text` with everything beyond ASCII as \u escapes.
std::string escaped_content(std::string_view escapes, std::size_t count) {
  std::string inside;
  for (std::size_t i = 0; i < count; ++i) inside += escapes;
  return event(R"({"content":")" + inside + "\"}");
}

TEST(MinimaxSlicing, ACharacterIsAUnicodeScalarValue) {
  struct Case {
    std::string_view escapes;
    std::string_view text;
  };
  using namespace std::string_view_literals;
  const Case cases[] = {{R"(\ud83d\ude00)", "\U0001F600"},
                        {R"(\u6f22)", "\u6f22"},
                        {"\u00e9", "\u00e9"},
                        {R"(e\u0301)", "e\u0301"},
                        {R"(\u0000)", "\0"sv},
                        {R"(\")", "\""},
                        {R"(\\)", "\\"},
                        {R"(\/)", "/"},
                        {R"(\n)", "\n"},
                        {R"(\u2028)", "\u2028"},
                        {R"(\udbff\udfff)", "\U0010FFFF"}};
  for (const auto& [escapes, text] : cases) {
    for (const std::size_t count : {1U, 40U, 79U, 80U, 161U, 165U, 400U}) {
      std::string whole;
      for (std::size_t i = 0; i < count; ++i) whole += text;
      expect_cut(std::string{escapes}, escaped_content(escapes, count), whole);
    }
  }
}

TEST(MinimaxSlicing, EscapesAreNormalised) {
  const auto wire = event(R"({"content":"\/\u00e9\u0041\b\u001f\"\\\n"})");
  EXPECT_EQ(resliced(wire), slice(R"("content":"/éA\u0008\u001f\"\\\n")"));
}

TEST(MinimaxSlicing, OutputComesInBoundedPieces) {
  const std::string text = letters(600'000);
  MinimaxReslicer reslicer;
  reslicer.feed(content(text));
  std::string all;
  std::size_t turns = 0;
  for (bool more = true; more; ++turns) {
    std::string out;
    more = reslicer.produce(out);
    EXPECT_LE(out.size(), MinimaxReslicer::kOutputBytes + 1000);
    all += out;
  }
  EXPECT_GT(turns, 15U);
  EXPECT_EQ(joined(all + finished(reslicer)), text);
}

TEST(MinimaxSlicing, WhatPassesComesInBoundedPiecesToo) {
  const std::string frame = data_frame(R"({"choices":[],"x":")" + letters(500'000) + "\"}");
  for (const auto& wire : {frame, kDone + frame, ": " + letters(300'000) + "\n\n"}) {
    for (const std::size_t most : {1U, 1000U, 65536U}) {
      if (most == 1 && wire.size() > 400'000) continue;
      MinimaxReslicer reslicer;
      reslicer.feed(wire);
      std::string all;
      for (bool more = true; more;) {
        std::string out;
        more = reslicer.produce(out, most);
        EXPECT_LE(out.size(), most);
        all += out;
      }
      EXPECT_EQ(all, wire);
    }
  }
}

TEST(MinimaxSlicing, ThePiecesOfTheOutputDoNotChangeIt) {
  const auto wire = content(letters(50)) + event(R"({"role":"assistant","content":"x"})") +
                    field("reasoning", letters(700)) + event(R"({"x":1})", "\"stop\"") + kDone;
  const auto whole = resliced(wire);
  for (std::size_t most = 1; most < 400; ++most) {
    MinimaxReslicer reslicer;
    reslicer.feed(wire);
    const auto out = drained(reslicer, most);
    EXPECT_EQ(out + finished(reslicer), whole) << most;
  }
}

}  // namespace
}  // namespace smg::relay
