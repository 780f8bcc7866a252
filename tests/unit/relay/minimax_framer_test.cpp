#include "relay/minimax_framer.hpp"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace smg::relay::minimax {
namespace {

using Found = SseFramer::Found;

constexpr std::size_t kMost = 64;

/// Everything a framer finds in a stream that arrives in the pieces given, as one line a frame; the
/// unfinished rest comes last.
std::vector<std::string> found_in(const std::vector<std::string_view>& pieces) {
  SseFramer framer{kMost};
  std::vector<std::string> all;
  for (const auto piece : pieces) {
    framer.append(piece);
    for (auto found = framer.find(); found != Found::Nothing; found = framer.find()) {
      if (found == Found::Oversized) {
        all.emplace_back("oversized");
        return all;
      }
      if (found == Found::LateLineFeed) {
        EXPECT_EQ(framer.front().front(), '\n');
        all.back() += '\n';  // as if it had come in time
        framer.take(1);
        continue;
      }
      const auto& frame = framer.frame();
      all.push_back(std::to_string(frame.lines) + (frame.has_data ? "d " : "- ") +
                    std::string{frame.line} + "|" +
                    std::string{framer.front().substr(0, frame.size)});
      framer.take(frame.size);
    }
  }
  all.push_back("rest " + std::string{framer.front()});
  return all;
}

struct Case {
  std::string_view wire;
  std::vector<std::string> found;
};

const std::vector<Case>& cases() {
  static const std::vector<Case> all = {
      {"data: a\n\ndata: b\n\n", {"1d data: a|data: a\n\n", "1d data: b|data: b\n\n", "rest "}},
      {"data: a\r\n\r\ndata: b\r\n\r\n",
       {"1d data: a|data: a\r\n\r\n", "1d data: b|data: b\r\n\r\n", "rest "}},
      {"data: a\r\rdata: b\r\r", {"1d data: a|data: a\r\r", "1d data: b|data: b\r\r", "rest "}},
      {"data: a\n\r\ndata: b\r\n\n",
       {"1d data: a|data: a\n\r\n", "1d data: b|data: b\r\n\n", "rest "}},
      {"data: a\n\rdata: b\r\n\rx",
       {"1d data: a|data: a\n\r", "1d data: b|data: b\r\n\r", "rest x"}},
      {"data: a\r\r\nx", {"1d data: a|data: a\r\r\n", "rest x"}},
      {"\n\r\n\rdata: a\n\n", {"0- |\n", "0- |\r\n", "0- |\r", "1d data: a|data: a\n\n", "rest "}},
      {": c\n\n", {"1- : c|: c\n\n", "rest "}},
      {"event: e\ndata: a\n\n", {"2d event: e|event: e\ndata: a\n\n", "rest "}},
      {"data\n\n", {"1- data|data\n\n", "rest "}},
      {" data:\nData:\n\n", {"2-  data:| data:\nData:\n\n", "rest "}},
      {"\xEF\xBB\xBF"
       "data: a\n\n",
       {"1- \xEF\xBB\xBF"
        "data: a|\xEF\xBB\xBF"
        "data: a\n\n",
        "rest "}},
      {"data: a\n\ndata: unfin", {"1d data: a|data: a\n\n", "rest data: unfin"}},
      {"data: a\n", {"rest data: a\n"}},
      {"data: a\r", {"rest data: a\r"}},
      {"", {"rest "}},
  };
  return all;
}

TEST(MinimaxFramer, FindsFramesInOnePiece) {
  for (const auto& [wire, found] : cases()) EXPECT_EQ(found_in({wire}), found) << wire;
}

TEST(MinimaxFramer, ACutAtAnyOffsetChangesNothing) {
  for (const auto& [wire, found] : cases()) {
    for (std::size_t cut = 0; cut <= wire.size(); ++cut) {
      EXPECT_EQ(found_in({wire.substr(0, cut), wire.substr(cut)}), found) << wire << " at " << cut;
    }
  }
}

std::vector<std::string_view> cut_into(std::string_view wire, std::size_t piece) {
  std::vector<std::string_view> pieces;
  pieces.reserve(wire.size() / piece + 1);
  for (std::size_t at = 0; at < wire.size(); at += piece) pieces.push_back(wire.substr(at, piece));
  return pieces;
}

TEST(MinimaxFramer, BytesOneByOneChangeNothing) {
  for (const auto& [wire, found] : cases()) EXPECT_EQ(found_in(cut_into(wire, 1)), found) << wire;
}

TEST(MinimaxFramer, AFrameEndsWithItsEmptyLineAtOnce) {
  for (const std::string_view wire : {"data: a\n\n", "data: a\r\r", "data: a\r\n\r"}) {
    SseFramer framer{kMost};
    framer.append(wire);
    EXPECT_EQ(framer.find(), Found::Frame) << wire;
  }
}

void expect_oversized(const std::string& wire, bool oversized) {
  for (const std::size_t piece : {1U, 1000U}) {
    EXPECT_EQ(found_in(cut_into(wire, piece)).front() == "oversized", oversized) << wire;
  }
}

TEST(MinimaxFramer, TheBoundCountsAllButTheLastLineEnds) {
  const std::string longest(kMost, 'x');
  const std::string two_lines =
      std::string(kMost / 2, 'x') + "\n" + std::string(kMost / 2 - 1, 'x');
  for (const auto& frame : {longest, two_lines}) {
    for (const std::string end : {"\n\n", "\r\n\r\n", "\r\r"}) {
      expect_oversized(frame + end, false);
      expect_oversized(frame + "x" + end, true);
    }
  }
}

TEST(MinimaxFramer, AnUnfinishedFrameIsOversizedAsSoonAsItIs) {
  SseFramer framer{kMost};
  framer.append(": c\n\n" + std::string(kMost, 'x'));
  ASSERT_EQ(framer.find(), Found::Frame);
  framer.take(framer.frame().size);
  EXPECT_EQ(framer.find(), Found::Nothing);
  framer.append("\n");
  EXPECT_EQ(framer.find(), Found::Nothing);
  framer.append("x");
  EXPECT_EQ(framer.find(), Found::Oversized);
}

}  // namespace
}  // namespace smg::relay::minimax
