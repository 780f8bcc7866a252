#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "unit/relay/minimax_stream.hpp"
#include <smg/relay/minimax_reslicer.hpp>

namespace smg::relay {
namespace {

using namespace test;

/// A synthesized event with this choice, as the re-slicer spells it.
std::string whole_event(std::string_view delta, std::string_view finish_reason = "null",
                        std::string_view top = "") {
  return event(delta, finish_reason, top);
}

struct Case {
  std::string_view name;
  std::string wire;
  std::string expected;
};

/// Each case as one piece and byte by byte.
void expect_all(const std::vector<Case>& cases) {
  for (const auto& [name, wire, expected] : cases) {
    EXPECT_EQ(resliced(wire), expected) << name;
    EXPECT_EQ(resliced(wire, 1), expected) << name << ", byte by byte";
  }
}

std::string with_line_ends(std::string_view wire, std::string_view line_end) {
  std::string out;
  for (const char c : wire) {
    if (c == '\n') {
      out += line_end;
    } else {
      out += c;
    }
  }
  return out;
}

// Frame kinds.

TEST(MinimaxReslicer, CommentsAndUnknownFramesPassAtOnceAndFlushNothing) {
  for (const std::string_view frame :
       {": ping\n\n", ":\n\n", ": a\n: b\n\n", ": caf\u00e9\n\n", "event: x\nid: 1\nretry: 5\n\n",
        "\n", "\n\n\n", "data\n\n", " data: {}\n\n", "Data: {}\n\n", "\uFEFFdata: {}\n\n",
        ": \xFF\xFE\n\n"}) {
    MinimaxReslicer reslicer;
    EXPECT_EQ(fed(reslicer, content("a")), "");
    EXPECT_EQ(fed(reslicer, frame), frame);
    EXPECT_TRUE(reslicer.has_pending());
    EXPECT_EQ(fed(reslicer, content("b") + kDone), content_slice("ab") + kDone);
  }
}

TEST(MinimaxReslicer, AllAfterDoneIsVerbatim) {
  const std::string rest = content("b") + content("c") + "data: {oops\n\nunfinished";
  for (const std::string_view done :
       {"data: [DONE]\n\n", "data:[DONE]\n\n", "data:   [DONE] \t\n\n", "data: [DONE]\r\n\r\n"}) {
    const auto wire = content("a") + std::string{done} + rest;
    expect_all({{done, wire, content_slice("a") + std::string{done} + rest}});
  }
}

TEST(MinimaxReslicer, WhatOnlyResemblesDoneIsNot) {
  for (const std::string_view frame : {"data: [DONE]x\n\n", "data: [done]\n\n",
                                       "event: e\ndata: [DONE]\n\n", "data: x[DONE]\n\n"}) {
    expect_all({{frame, std::string{frame} + content("a") + content("b"),
                 std::string{frame} + content_slice("ab")}});
  }
}

TEST(MinimaxReslicer, AMalformedFrameFollowsTheTextBeforeIt) {
  for (const std::string_view frame :
       {"data: {oops\n\n", "data: [1]\n\n", "data: 5\n\n", "data:\n\n", "data: \n\n",
        "data: {\"a\":1} x\n\n", "data: {\"a\":1}{}\n\n", "data: \u00e9\n\n",
        "data: {\"a\":\"\xFF\"}\n\n", "data: {\"a\":01}\n\n", "data: {\"a\":tru}\n\n",
        "data: {\"a\":\"\x01\"}\n\n", "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]\n\n",
        "data: a\ndata: b\n\n",
        "event: x\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"x\"}}]}\n\n",
        ": c\ndata: {}\n\n", "data: {}\n\n"}) {
    expect_all({{frame, content("a") + std::string{frame} + kMark + content("b"),
                 content_slice("a") + std::string{frame} + kMark + content_slice("b")}});
  }
}

TEST(MinimaxReslicer, SeveralChoicesSwitchToVerbatim) {
  for (const std::string_view choices :
       {R"([{"index":0,"delta":{"content":"x"}},{"index":1,"delta":{}}])",
        R"([{"index":0},{"index":0}])", "[1,2]", R"([{"index":1,"delta":{"content":"x"}}])",
        R"([{"index":-1}])", R"([{"delta":{},"index":123456789012345678901234567890}])"}) {
    const auto rest = data_frame("{\"choices\":" + std::string{choices} + "}") + content("b") +
                      content("c") + "tail";
    expect_all({{choices, content("a") + rest, content_slice("a") + rest}});
  }
}

TEST(MinimaxReslicer, AnIndexThatIsNoOtherIntegerIsThatOfTheOnlyChoice) {
  for (const std::string_view index : {"0", "-0", "0.0", "1.5", "null", "\"1\""}) {
    const auto wire = data_frame(R"({"choices":[{"index":)" + std::string{index} +
                                 R"(,"delta":{"content":"a"}}]})");
    expect_all({{index, wire + wire, slice(R"("content":"aa")", "")}});
  }
}

TEST(MinimaxReslicer, AnEventWithoutAChoicePassesInOrder) {
  for (const std::string_view json :
       {R"({"id":"c1"})", R"({"choices":[]})", R"({"choices":null})", R"({"choices":5})",
        R"({"choices":{}})", R"({"choices":["x"]})", R"({"choices":[[]]})",
        R"({"error":{"message":"boom"}})", R"({"choices":[],"usage":{"total_tokens":3}})"}) {
    expect_all({{json, content("a") + data_frame(json) + content("b"),
                 content_slice("a") + data_frame(json) + content_slice("b")}});
  }
}

TEST(MinimaxReslicer, AnEventThatCannotBeTakenApartPassesWhole) {
  const std::string text = R"("delta":{"role":"assistant","content":"x"})";
  for (const std::string_view choice : {
           R"({"index":0, TEXT, "logprobs":{"content":[{"token":"q","logprob":-0.10}]}})",
           R"({"index":0,TEXT,"logprobs":{}})",
           R"({"index":0,TEXT,"token_ids":[1]})",
           R"({"index":0,TEXT,"matched_stop":7})",
           R"({"index":0,TEXT,"unknown":false})",
           R"({"index":0,TEXT,"unknown":[]})",
           R"({"index":0,"text":"x"})",
           R"({"index":0})",
           R"({"index":0,"delta":null,"finish_reason":"stop"})",
           R"({"index":0,"delta":"x"})",
           R"({"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":{"a":1}}}]}})",
           R"({"index":0,"delta":{"tool_calls":[{"index":{},"function":{"arguments":"x"}}]}})",
           R"({"index":0,"delta":{"tool_calls":[{"index":0,"function":"f"}]}})",
           R"({"index":0,"delta":{"tool_calls":["x"]}})",
           R"({"index":0,"delta":{"tool_calls":{}}})",
           R"({"index":0,"delta":{"content":"caf\u00e9 \ud83d"}})",
           R"({"index":0,"delta":{"content":"\udc00\ud800"}})",
       }) {
    std::string json = R"({"id":"other", "choices":[)" + std::string{choice} + "]}";
    if (const auto at = json.find("TEXT"); at != std::string::npos) json.replace(at, 4, text);
    expect_all({{choice, content("a") + data_frame(json) + content("b"),
                 content_slice("a") + data_frame(json) + content_slice("b")}});
  }
}

TEST(MinimaxReslicer, NullMembersAreNoReason) {
  const auto null_member = [](std::string_view text) {
    return data_frame(R"({"choices":[{"index":0,"delta":{"content":")" + std::string{text} +
                      R"("},"logprobs":null,"matched_stop":null}],"usage":null,"error":null})");
  };
  expect_all({{"", null_member("a") + null_member("b"), slice(R"("content":"ab")", "")}});
}

// Text, order, and what is beside it.

TEST(MinimaxReslicer, TextsOfDifferentSlotsKeepTheirOrder) {
  expect_all({
      {"fields",
       field("reasoning_content", "r") + field("reasoning_content", "s") + content("c") +
           field("reasoning", "q") + content("d"),
       slice(R"("reasoning_content":"rs")") + content_slice("c") + slice(R"("reasoning":"q")") +
           content_slice("d")},
      {"fields of one delta",
       event(R"({"content":"c","reasoning":"b","reasoning_content":"a"})") + content("d"),
       slice(R"("reasoning_content":"a")") + slice(R"("reasoning":"b")") + content_slice("cd")},
      {"calls",
       arguments("0", "a") + arguments("0", "b") + arguments("1", "c") + arguments("0", "d"),
       slice(R"("tool_calls":[{"index":0,"function":{"arguments":"ab"}}])") +
           slice(R"("tool_calls":[{"index":1,"function":{"arguments":"c"}}])") +
           slice(R"("tool_calls":[{"index":0,"function":{"arguments":"d"}}])")},
      {"a call without an index",
       event(R"({"tool_calls":[{"function":{"arguments":"a"}}]})") + arguments("0", "b") +
           event(R"({"tool_calls":[{"index":null,"function":{"arguments":"c"}}]})"),
       slice(R"("tool_calls":[{"function":{"arguments":"a"}}])") +
           slice(R"("tool_calls":[{"index":0,"function":{"arguments":"b"}}])") +
           slice(R"("tool_calls":[{"function":{"arguments":"c"}}])")},
  });
}

TEST(MinimaxReslicer, EventsWithNothingToSayAreSwallowed) {
  for (const std::string_view delta :
       {"{}", R"({"content":null})", R"({"content":""})", R"({"tool_calls":[]})",
        R"({"tool_calls":null})", R"({"tool_calls":[{"index":0}]})", R"({"unknown":null})",
        R"({"role":null})", R"({"tool_calls":[{"index":0,"function":{"arguments":""}}]})",
        R"({"tool_calls":[{"index":0,"id":null,"function":{"name":null,"arguments":null}}]})",
        R"({"tool_calls":[{"index":0,"type":"function","function":null}]})"}) {
    expect_all({{delta, content("a") + event(delta, "null", R"(,"usage":null)") + content("b"),
                 content_slice("ab")}});
  }
}

TEST(MinimaxReslicer, ARoleIsSentOnceAndFirst) {
  const std::string start = whole_event(R"({"role":"assistant"})");
  expect_all({
      {"alone", event(R"({"role":"assistant","content":""})") + content("a"),
       start + content_slice("a")},
      {"with text", event(R"({"content":"a","role":"assistant"})") + content("b"),
       start + content_slice("ab")},
      {"late", content("a") + event(R"({"role":"assistant","content":"b"})"),
       content_slice("a") + start + content_slice("b")},
      {"repeated",
       event(R"({"role":"assistant","content":"a"})") +
           event(R"({"role":"assistant","content":"b"})") +
           event(R"({"role":"assistant"})", "\"stop\""),
       start + content_slice("ab") + whole_event("{}", "\"stop\"")},
  });
}

TEST(MinimaxReslicer, TheRoleOfAnEventThatPassedWholeWasSent) {
  const auto whole = data_frame(
      R"({"choices":[{"index":0,"delta":{"role":"assistant","content":"a"},"logprobs":{}}]})");
  expect_all(
      {{"", whole + event(R"({"role":"assistant","content":"b"})"), whole + content_slice("b")}});
}

TEST(MinimaxReslicer, AToolCallStartsBeforeItsArguments) {
  const std::string call = R"({"index":0,"id":"call_1","type":"function","function":)";
  const auto start = whole_event(R"({"tool_calls":[)" + call + R"({"name":"f"}}]})");
  const auto slice_of = [](std::string_view text) {
    return slice(R"("tool_calls":[{"index":0,"function":{"arguments":")" + std::string{text} +
                 "\"}}]");
  };
  expect_all({
      {"start alone",
       content("Hi") + event(R"({"tool_calls":[)" + call + R"({"name":"f","arguments":""}}]})") +
           arguments("0", "a") + arguments("0", "b"),
       content_slice("Hi") + start + slice_of("ab")},
      {"all in one",
       event(R"({"tool_calls":[)" + call + R"({"name":"f","arguments":"ab"}}]})", "\"tool_calls\""),
       start + slice_of("ab") + whole_event("{}", "\"tool_calls\"")},
      {"an id only", event(R"({"tool_calls":[{"index":0,"id":"x","function":{"arguments":"a"}}]})"),
       whole_event(R"({"tool_calls":[{"index":0,"id":"x","function":{}}]})") + slice_of("a")},
      {"a type only",
       event(R"({"tool_calls":[{"index":0,"type":"function","function":{"arguments":"a"}}]})") +
           arguments("0", "b"),
       slice_of("ab")},
      {"nulls and numbers",
       event(
           R"({"tool_calls":[{"index":0,"id":"x","n":1.50,"type":null,"function":{"name":null}}]})"),
       whole_event(R"({"tool_calls":[{"index":0,"id":"x","n":1.50,"function":{}}]})")},
      {"with text, role and a call that goes on",
       event(R"({"role":"assistant","content":"t","tool_calls":[)" + call +
             R"({"name":"f"}},{"index":1,"function":{"arguments":"b"}}]})"),
       whole_event(R"({"role":"assistant","tool_calls":[)" + call + R"({"name":"f"}}]})") +
           content_slice("t") +
           slice(R"("tool_calls":[{"index":1,"function":{"arguments":"b"}}])")},
      {"another member, no start",
       arguments("0", "a") +
           event(R"({"tool_calls":[{"index":0,"custom":[1],"function":{"arguments":"b"}}]})"),
       slice_of("ab") + whole_event(R"({"tool_calls":[{"index":0,"custom":[1],"function":{}}]})")},
  });
}

TEST(MinimaxReslicer, FinishReasonAndUsageFollowTheText) {
  const std::string usage = R"(,"usage":{"total_tokens": 12345678901234567890})";
  expect_all({
      {"finish", content("a") + event(R"({"content":"b"})", "\"length\""),
       content_slice("ab") + whole_event("{}", "\"length\"")},
      {"empty finish", content("a") + event("{}", "\"\"") + content("b"),
       content_slice("a") + whole_event("{}", "\"\"") + content_slice("b")},
      {"false finish", content("a") + event("{}", "false"),
       content_slice("a") + whole_event("{}", "false")},
      {"usage", content("a") + event(R"({"content":"b"})", "null", usage) + content("c"),
       content_slice("ab") + whole_event("{}", "null", usage) + content_slice("c")},
      {"empty usage", content("a") + event("{}", "null", R"(,"usage":{})"),
       content_slice("a") + whole_event("{}", "null", R"(,"usage":{})")},
      {"usage with a role", event(R"({"role":"assistant","content":"a"})", "\"stop\"", usage),
       whole_event(R"({"role":"assistant"})") + content_slice("a") +
           whole_event("{}", "\"stop\"", usage)},
      {"members of the choice keep their order and nulls",
       data_frame(
           R"({"usage":null,"choices":[{"finish_reason":"stop","logprobs":null,"delta":{}}]})"),
       data_frame(
           R"({"usage":null,"choices":[{"finish_reason":"stop","logprobs":null,"delta":{}}]})")},
  });
}

TEST(MinimaxReslicer, UnknownDeltaFieldsStayInTheirEvents) {
  expect_all({
      {"after the text",
       content("a") + event(R"({"annotations":[1],"content":"b","audio":{"x": 1.50}})") +
           content("c"),
       content_slice("ab") + whole_event(R"({"annotations":[1],"audio":{"x": 1.50}})") +
           content_slice("c")},
      {"content that is not a string", event(R"({"content":["x", 1],"reasoning":"r"})"),
       slice(R"("reasoning":"r")") + whole_event(R"({"content":["x", 1]})")},
      {"beside a first role, once", event(R"({"role":"assistant","audio":{},"content":"a"})"),
       whole_event(R"({"role":"assistant","audio":{}})") + content_slice("a")},
      {"beside a first role and a finish_reason",
       event(R"({"role":"assistant","audio":{}})", "\"stop\""),
       whole_event(R"({"role":"assistant","audio":{}})") + whole_event("{}", "\"stop\"")},
  });
}

TEST(MinimaxReslicer, EscapedAndRepeatedMembersAreUnderstood) {
  expect_all({
      {"escaped", data_frame(R"({"choic\u0065s":[{"d\u0065lta":{"\u0063ontent":"a"}}]})"),
       slice(R"("content":"a")", "")},
      {"repeated text", data_frame(R"({"choices":[{"delta":{"content":"a","content":"b"}}]})"),
       slice(R"("content":"b")", "")},
      {"repeated choices",
       data_frame(R"({"choices":[{"delta":{}},{}],"choices":[{"delta":{},"finish_reason":"x"}]})"),
       data_frame(R"({"choices":[{"delta":{},"finish_reason":"x"}]})")},
  });
}

// Envelopes.

TEST(MinimaxReslicer, SlicesCarryTheEnvelopeOfTheLatestEvent) {
  const std::string first = R"("id":"c1","model":"m")";
  const std::string second = R"("id":"c2","created":12345678901234567890,"x":{"y": 1.50,"z":1e3})";
  const auto wire = [](std::string_view head, std::string_view text) {
    return data_frame("{" + std::string{head} + R"(,"choices":[{"index":0,"delta":{"content":")" +
                      std::string{text} + "\"}}]}");
  };
  const std::string b(300, 'b');
  expect_all({{"", wire(first, "a") + data_frame(R"({"id":"no","choices":[]})") + wire(second, b),
               slice(R"("content":"a")", first) + data_frame(R"({"id":"no","choices":[]})") +
                   slice(R"("content":")" + b.substr(0, 160) + '"', second) +
                   slice(R"("content":")" + b.substr(0, 140) + '"', second)}});
}

TEST(MinimaxReslicer, NewsBesideTheChoiceAreNotLost) {
  const std::string error = R"(,"error":{"message":"boom"})";
  const std::string news = R"(,"timings":{"ms": 1.50})";
  expect_all({
      {"error, no text", content("a") + event("{}", "null", error) + content("b"),
       content_slice("a") + whole_event("{}", "null", error) + content_slice("b")},
      {"error, text", content("a") + event(R"({"content":"b"})", "null", error) + content("c"),
       content_slice("ab") + whole_event("{}", "null", error) + content_slice("c")},
      {"new member, no text", content("a") + event("{}", "null", news) + content("b"),
       // The text is flushed by an event that already has its envelope.
       slice(R"("content":"a")", std::string{kHead} + news) + whole_event("{}", "null", news) +
           content_slice("b")},
      {"new member, text", content("a") + event(R"({"content":"b"})", "null", news) + content("c"),
       slice(R"("content":"ab")", std::string{kHead} + news) + content_slice("c")},
      {"new member in the first event, no text", event("{}", "null", news) + content("b"),
       whole_event("{}", "null", news) + content_slice("b")},
      {"a member of every event is not new",
       event(R"({"content":"a"})", "null", news) + event("{}", "null", news) +
           event(R"({"content":"b"})", "null", news),
       slice(R"("content":"ab")", std::string{kHead} + news)},
      {"nor is one of every chunk",
       content("a") + event("{}", "null", R"(,"system_fingerprint":"f","service_tier":"t")") +
           content("b"),
       content_slice("ab")},
      {"nor null", content("a") + event("{}", "null", R"(,"timings":null)") + content("b"),
       content_slice("ab")},
  });
}

// Framing, ends and the idle time.

TEST(MinimaxReslicer, EveryLineEndIsUnderstoodWhereverTheStreamIsCut) {
  const std::string long_text(200, 'c');
  const auto wire = content("a") + event(R"({"content":"h\u00e9"})") + content(long_text) +
                    arguments("0", "\U0001F600\u6f22");
  const auto expected = content_slice("ah\u00e9" + long_text.substr(0, 157)) +
                        content_slice(long_text.substr(0, 43)) +
                        slice(
                            "\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\""
                            "\U0001F600\u6f22\"}}]");
  for (const std::string_view line_end : {"\n", "\r\n", "\r"}) {
    const auto bytes = with_line_ends(wire, line_end);
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
      MinimaxReslicer reslicer;
      auto out = fed(reslicer, std::string_view{bytes}.substr(0, cut));
      out += fed(reslicer, std::string_view{bytes}.substr(cut));
      EXPECT_EQ(out + finished(reslicer), expected) << line_end.size() << " at " << cut;
    }
  }
}

TEST(MinimaxReslicer, FramesThatPassKeepTheirLineEndsWhereverTheStreamIsCut) {
  const std::string bytes = ": c\r\n\r\ndata: x\r\n\r\n\r\ndata: [DONE]\r\n\r\nend\r\n";
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
    MinimaxReslicer reslicer;
    auto out = fed(reslicer, std::string_view{bytes}.substr(0, cut));
    out += fed(reslicer, std::string_view{bytes}.substr(cut));
    EXPECT_EQ(out + finished(reslicer), bytes) << cut;
  }
}

TEST(MinimaxReslicer, BlanksBetweenDataAndPayload) {
  for (const std::string_view blanks : {"", " ", "  ", "    "}) {
    const std::string wire = "data:" + std::string{blanks} + content("a").substr(6);
    EXPECT_EQ(resliced(wire + wire), content_slice("aa"));
  }
}

TEST(MinimaxReslicer, AnOversizedFrameSwitchesToVerbatim) {
  constexpr auto kMost = MinimaxReslicer::kMostFrameBytes;
  const auto bare = content("").size() - 2;
  for (const std::size_t excess : {0U, 1U}) {
    auto frame = content(std::string(kMost - bare + excess, 'x'));
    frame.resize(frame.size() - 2);
    ASSERT_EQ(frame.size(), kMost + excess);
    const auto rest = content("b") + content("c");
    for (const std::size_t piece : {std::size_t{65536}, kMost * 2}) {
      const auto out = resliced(content("a") + frame + "\n\n" + rest, piece);
      if (excess == 1) {
        EXPECT_EQ(out, content_slice("a") + frame + "\n\n" + rest);
      } else {
        std::size_t total = 0;
        for (const auto length : lengths(out)) total += length;
        EXPECT_EQ(total, 1 + kMost - bare + 2);
        EXPECT_EQ(out.find(frame), std::string::npos);
      }
    }
  }
}

TEST(MinimaxReslicer, AnEndlessFrameLeavesAsSoonAsItIsTooLong) {
  MinimaxReslicer reslicer;
  const std::string held(MinimaxReslicer::kMostFrameBytes, 'x');
  EXPECT_EQ(fed(reslicer, content("a") + held), "");
  EXPECT_EQ(fed(reslicer, "yz"), content_slice("a") + held + "yz");
  EXPECT_EQ(fed(reslicer, "more"), "more");
  EXPECT_EQ(finished(reslicer), "");
}

TEST(MinimaxReslicer, AnUnfinishedFrameLeavesAtTheEndAsItIs) {
  for (const std::string_view tail : {"data: unfin", "data: {\"choices\":[{\"delta\"",
                                      "data: [DONE]", ": c", "data: x\n", "data: x\r", "\xFF"}) {
    MinimaxReslicer reslicer;
    EXPECT_EQ(fed(reslicer, content("a") + std::string{tail}), "");
    EXPECT_TRUE(reslicer.has_pending());
    EXPECT_EQ(finished(reslicer), content_slice("a") + std::string{tail});
    EXPECT_FALSE(reslicer.has_pending());
  }
}

TEST(MinimaxReslicer, AStreamOfNothingIsNothing) {
  MinimaxReslicer reslicer;
  EXPECT_EQ(fed(reslicer, ""), "");
  reslicer.idle();
  EXPECT_EQ(drained(reslicer), "");
  EXPECT_FALSE(reslicer.has_pending());
  EXPECT_EQ(finished(reslicer), "");
}

TEST(MinimaxReslicer, SilenceFlushesTextButNoUnfinishedFrame) {
  MinimaxReslicer reslicer;
  const auto late = content("late");
  EXPECT_EQ(fed(reslicer, content("early") + late.substr(0, 30)), "");
  EXPECT_TRUE(reslicer.has_pending());
  reslicer.idle();
  EXPECT_EQ(drained(reslicer), content_slice("early"));
  EXPECT_FALSE(reslicer.has_pending());
  reslicer.idle();
  EXPECT_EQ(drained(reslicer), "");
  EXPECT_EQ(fed(reslicer, late.substr(30)), "");
  EXPECT_EQ(finished(reslicer), content_slice("late"));
}

TEST(MinimaxReslicer, MovingKeepsTheStream) {
  MinimaxReslicer reslicer;
  EXPECT_EQ(fed(reslicer, content("a")), "");
  MinimaxReslicer other = std::move(reslicer);
  EXPECT_EQ(fed(other, content("b")), "");
  EXPECT_EQ(finished(other), content_slice("ab"));
}

}  // namespace
}  // namespace smg::relay
