#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "unit/relay/minimax_stream.hpp"

namespace smg::relay {
namespace {

using namespace test;

/// One thing that the worker says, for the model below.
struct Said {
  std::size_t complete_at = 0;         ///< bytes of the stream after which it is known
  bool flushes = false;                ///< what was pending leaves first
  std::string slot = {};               ///< with text
  std::vector<std::string> text = {};  ///< a string for each character
};

/// What must leave, worked out character by character: the text of every slice, in order.
class Model {
 public:
  void say(const Said& said) {
    if (said.flushes) flush();
    if (said.text.empty()) return;
    if (said.slot != slot_) flush();
    slot_ = said.slot;
    held_.insert(held_.end(), said.text.begin(), said.text.end());
    while (held_.size() >= 80) cut();
  }

  void flush() {
    while (!held_.empty()) cut();
  }

  [[nodiscard]] bool holds_text() const { return !held_.empty(); }
  [[nodiscard]] const Texts& slices() const { return slices_; }

 private:
  void cut() {
    std::size_t length = std::min<std::size_t>(held_.size(), 160);
    while (length != held_.size() && held_.size() - length < 5) --length;
    std::string text;
    for (std::size_t i = 0; i < length; ++i) text += held_[i];
    held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(length));
    slices_.emplace_back(slot_, text);
  }

  std::string slot_;
  std::vector<std::string> held_;
  Texts slices_;
};

/// A random stream of a worker.
class RandomStream {
 public:
  explicit RandomStream(std::mt19937_64& random) : random_(random) {
    line_end_ = pick<std::string_view>({"\n", "\r\n", "\r"});
    const auto events = 1 + below(40);
    for (std::size_t i = 0; i < events; ++i) add_frame();
    add(event("{}", "\"stop\""), {.flushes = true});
    add(kDone, {.flushes = true});
  }

  [[nodiscard]] const std::string& wire() const { return wire_; }
  [[nodiscard]] const std::vector<Said>& said() const { return said_; }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }

  template <class Value>
  Value pick(std::initializer_list<Value> values) {
    return values.begin()[below(values.size())];
  }

  void add(std::string_view frame, Said said) {
    for (const char c : frame) {
      if (c == '\n') {
        wire_ += line_end_;
      } else {
        wire_ += c;
      }
    }
    // The CR of the empty line ends the frame already.
    said.complete_at = wire_.size() - (line_end_ == "\r\n" ? 1 : 0);
    said_.push_back(std::move(said));
  }

  std::vector<std::string> random_text() {
    const auto size = pick<std::size_t>({1, 1, 1, 2, 3, 4, 5, 7, 40, 79, 80, 161, 163, 500});
    std::vector<std::string> text;
    text.reserve(size);
    for (std::size_t i = 0; i < size; ++i) {
      text.emplace_back(pick<std::string_view>(
          {"a", "b", " ", "\n", "\"", "\\", "\u00e9", "\u6f22", "\U0001F600", "\u0301", "/"}));
    }
    return text;
  }

  static std::string joined(const std::vector<std::string>& text) {
    std::string all;
    for (const auto& character : text) all += character;
    return all;
  }

  void add_frame() {
    const auto roll = below(100);
    if (roll < 60) {
      add_text();
    } else if (roll < 75) {
      const auto index = std::to_string(below(3));
      auto text = random_text();
      const auto frame = arguments(index, joined(text));
      add(frame, {.slot = "arguments[" + index + "]", .text = std::move(text)});
    } else if (roll < 80) {
      add(event(R"({"tool_calls":[{"index":1,"id":"c","function":{"name":"f"}}]})"),
          {.flushes = true});
    } else if (roll < 90) {
      add(pick<std::string_view>({": keep-alive\n\n", "\n", "event: x\n\n"}), {});
    } else if (roll < 95) {
      add(event(R"({"extra":1})"), {.flushes = true});
    } else {
      add(pick<std::string_view>(
              {"data: {oops\n\n", "data: {\"choices\":[]}\n\n", "data: a\ndata: b\n\n"}),
          {.flushes = true});
    }
  }

  void add_text() {
    if (field_.empty() || below(10) == 0) {
      field_ = pick<std::string_view>({"reasoning_content", "reasoning", "content"});
    }
    auto text = random_text();
    const bool with_role = below(4) == 0;
    std::string delta = "{";
    if (with_role) delta += R"("role":"assistant",)";
    delta += text::json_quoted(field_) + ":" + text::json_quoted(joined(text)) + "}";
    const bool starts = with_role && !std::exchange(role_sent_, role_sent_ || with_role);
    const auto frame = event(delta);
    add(frame, {.flushes = starts, .slot = std::string{field_}, .text = std::move(text)});
  }

  std::mt19937_64& random_;
  std::string_view line_end_;
  std::string_view field_;
  bool role_sent_ = false;
  std::string wire_;
  std::vector<Said> said_;
};

std::size_t count_of(std::string_view text, std::string_view what) {
  std::size_t count = 0;
  for (auto at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

/// Feeds `stream` in random pieces with random silences; the model hears the same.
void expect_as_modelled(const RandomStream& stream, std::mt19937_64& random) {
  MinimaxReslicer reslicer;
  Model model;
  std::string out;
  std::size_t heard = 0;
  const std::string_view wire = stream.wire();
  const std::size_t most_piece = std::size_t{1} << (random() % 13);
  const std::size_t most_output = 1 + random() % 5000;
  for (std::size_t at = 0; at < wire.size();) {
    const auto piece = wire.substr(at, 1 + random() % most_piece);
    at += piece.size();
    reslicer.feed(piece);
    while (reslicer.produce(out, most_output)) {
    }
    for (; heard < stream.said().size() && stream.said()[heard].complete_at <= at; ++heard) {
      model.say(stream.said()[heard]);
    }
    ASSERT_EQ(reslicer.has_pending(), model.holds_text());
    if (random() % 16 != 0) continue;
    reslicer.idle();
    while (reslicer.produce(out, most_output)) {
    }
    model.flush();
  }
  out += finished(reslicer);
  EXPECT_EQ(texts(out), model.slices());
  for (const std::string_view passed : {": keep-alive", "event: x", "{oops", "[DONE]", "extra"}) {
    EXPECT_EQ(count_of(out, passed), count_of(wire, passed)) << passed;
  }
}

TEST(MinimaxProperty, RandomStreamsLeaveAsTheModelSays) {
  std::mt19937_64 random{20240611};
  for (int i = 0; i < 10'000 && !testing::Test::HasFailure(); ++i) {
    const RandomStream stream{random};
    expect_as_modelled(stream, random);
    if (testing::Test::HasFailure()) ADD_FAILURE() << "case " << i << "\n" << stream.wire();
  }
}

/// Some bytes of `wire` replaced, removed or doubled.
std::string damaged(std::string wire, std::mt19937_64& random) {
  constexpr std::string_view kBytes = "\n\r:,{}[]\"\\ud0\xFF\xC3 null";
  for (std::size_t i = 0; i < 1 + random() % 12 && !wire.empty(); ++i) {
    const std::size_t at = random() % wire.size();
    switch (random() % 3) {
      case 0: wire[at] = kBytes[random() % kBytes.size()]; break;
      case 1: wire.erase(at, 1 + random() % 3); break;
      default: wire.insert(at, 1, kBytes[random() % kBytes.size()]); break;
    }
  }
  return wire;
}

TEST(MinimaxProperty, ThePiecesOfADamagedStreamMakeNoDifference) {
  std::mt19937_64 random{7};
  for (int i = 0; i < 3000 && !testing::Test::HasFailure(); ++i) {
    const auto wire = damaged(RandomStream{random}.wire(), random);
    EXPECT_EQ(resliced(wire, 1 + random() % 100), resliced(wire)) << "case " << i << "\n" << wire;
  }
}

}  // namespace
}  // namespace smg::relay
