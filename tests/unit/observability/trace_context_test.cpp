#include <set>
#include <string>

#include <gtest/gtest.h>

#include <smg/observability/trace_context.hpp>

namespace smg::observability {
namespace {

constexpr TraceId kTrace{0x4bf92f3577b34da6, 0xa3ce929d0e0e4736};
constexpr SpanId kSpan = 0x00f067aa0ba902b7;
const std::string kIds = "4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";

std::string text_of(const TraceContext& context) {
  const auto text = format_traceparent(context);
  return {text.data(), text.size()};
}

TEST(TraceParent, IsReadByTheStandard) {
  const struct {
    std::string value;
    std::uint8_t flags;
  } cases[] = {
      {"00-" + kIds + "-01", 1},       {"00-" + kIds + "-00", 0},  {"00-" + kIds + "-02", 2},
      {"00-" + kIds + "-ff", 3},       {"00-" + kIds + "-fd", 1},  {"01-" + kIds + "-01", 1},
      {"cc-" + kIds + "-01-more.", 1}, {"fe-" + kIds + "-01-", 1},
  };
  for (const auto& test : cases) {
    const auto parsed = parse_traceparent(test.value);
    ASSERT_TRUE(parsed) << test.value;
    EXPECT_EQ(*parsed, (TraceContext{kTrace, kSpan, test.flags})) << test.value;
    EXPECT_EQ(parsed->sampled(), (test.flags & 1) != 0) << test.value;
  }
}

TEST(TraceParent, IsAsGoodAsNoneWhenItBreaksTheStandard) {
  const std::string zeros(32, '0');
  const std::string cases[] = {
      "",
      "00",
      "nonsense",
      kIds,
      "00-" + kIds,
      "00-" + kIds + "-",
      "00-" + kIds + "-1",
      "00-" + kIds + "-01-",
      "00-" + kIds + "-01-more",
      "00-" + kIds + "-010",
      "01-" + kIds + "-01.more",
      "01-" + kIds + "-011",
      "ff-" + kIds + "-01",
      "0-" + kIds + "-01",
      "0g-" + kIds + "-01",
      "00-" + kIds + "-0x",
      "00-" + kIds + "-0A",
      "00_" + kIds + "-01",
      "00-" + kIds + "_01",
      "00-4BF92F3577B34DA6a3ce929d0e0e4736-00f067aa0ba902b7-01",
      "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-011",
      "00-4bf92f3577b34da6a3ce929d0e0e47361-00f067aa0ba902b-01",
      "00-" + zeros + "-00f067aa0ba902b7-01",
      "00-4bf92f3577b34da6a3ce929d0e0e4736-" + zeros.substr(0, 16) + "-01",
      "00-.bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
      "00-4bf92f3577b34da6 3ce929d0e0e4736-00f067aa0ba902b7-01",
  };
  for (const auto& value : cases) EXPECT_FALSE(parse_traceparent(value)) << value;
}

TEST(TraceParent, IsWrittenInVersion00) {
  EXPECT_EQ(text_of({kTrace, kSpan, 1}), "00-" + kIds + "-01");
  EXPECT_EQ(text_of({{0, 1}, 0xF, 0}), "00-00000000000000000000000000000001-000000000000000f-00");
  const TraceContext made{make_trace_id(), make_span_id(), 3};
  EXPECT_EQ(parse_traceparent(text_of(made)), made);
}

TEST(TraceState, IsAListOfMembers) {
  std::string most;
  for (int i = 0; i < 32; ++i) most += "k" + std::to_string(i) + "=v,";
  const struct {
    std::string value;
    bool sound;
  } cases[] = {
      {"a=b", true},
      {"vendor=1,other@system=value with blanks", true},
      {"a=b , \t c=d,,", true},
      {"1a/b*c-d_e=~!", true},
      {std::string(256, 'k') + "=" + std::string(256, 'v'), true},
      {most, true},
      {"", false},
      {" , ", false},
      {"a", false},
      {"a=", false},
      {"=b", false},
      {"a=b,c", false},
      {"a=b=c", false},
      {"A=b", false},
      {"_a=b", false},
      {"a b=c", false},
      {"a =b", false},
      {"a=\x7f", false},
      {"a=\xc3\xa9", false},
      {std::string(257, 'k') + "=v", false},
      {"k=" + std::string(257, 'v'), false},
      {most + "k32=v", false},
  };
  for (const auto& test : cases) EXPECT_EQ(is_tracestate(test.value), test.sound) << test.value;
}

TEST(TraceIds, AreNotZeroAndDiffer) {
  std::set<std::string> seen;
  for (int i = 0; i < 1000; ++i) {
    const TraceId trace = make_trace_id();
    const SpanId span = make_span_id();
    EXPECT_NE(trace, TraceId{});
    EXPECT_NE(span, 0U);
    std::string hex;
    append_hex(hex, trace);
    EXPECT_EQ(hex.size(), 32U);
    EXPECT_TRUE(seen.insert(hex).second);
    hex.clear();
    append_hex(hex, span);
    EXPECT_EQ(hex.size(), 16U);
    EXPECT_TRUE(seen.insert(hex).second);
  }
}

}  // namespace
}  // namespace smg::observability
