#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <smg/base/text.hpp>

namespace smg::text {
namespace {

using namespace std::string_view_literals;
using std::string_view;

TEST(Text, LowerTouchesOnlyAsciiCapitals) {
  for (int i = 0; i < 256; ++i) {
    const char c = static_cast<char>(i);
    const char expected = i >= 'A' && i <= 'Z' ? static_cast<char>(i + 32) : c;
    EXPECT_EQ(lower(c), expected) << i;
  }
  EXPECT_EQ(to_lower("AZ[@\xC3\x84 az"), "az[@\xC3\x84 az");
}

TEST(Text, ComparesWithoutCase) {
  const struct {
    string_view a;
    string_view b;
    bool equal;
  } cases[] = {{"", "", true},
               {"Content-Length", "content-LENGTH", true},
               {"a", "", false},
               {"ab", "abc", false},
               {"@", "`", false},
               {"[", "{", false},
               {"\xC4", "\xE4", false},
               {"a\0b"sv, "A\0B"sv, true},
               {"a\0b"sv, "a\0c"sv, false}};
  for (const auto& c : cases) {
    EXPECT_EQ(equals_ignoring_case(c.a, c.b), c.equal) << c.a << " and " << c.b;
    EXPECT_EQ(equals_ignoring_case(c.b, c.a), c.equal) << c.b << " and " << c.a;
  }
  EXPECT_TRUE(starts_with_ignoring_case("HTTP://x", "http://"));
  EXPECT_TRUE(starts_with_ignoring_case("x", ""));
  EXPECT_FALSE(starts_with_ignoring_case("http:/", "http://"));
}

TEST(Text, TrimTakesBlanksAndTabsOnly) {
  const struct {
    string_view text;
    string_view trimmed;
  } cases[] = {{"", ""},       {" ", ""},          {" \t \t", ""},       {"a", "a"},
               {" a", "a"},    {"a\t", "a"},       {"\t a b \t", "a b"}, {"\na", "\na"},
               {"a\r", "a\r"}, {"\va\f", "\va\f"}, {"\0a"sv, "\0a"sv}};
  for (const auto& c : cases) EXPECT_EQ(trim(c.text), c.trimmed) << '"' << c.text << '"';
}

TEST(Text, ListElementsAreTrimmedAndEmptyOnesSkipped) {
  const struct {
    string_view list;
    std::vector<string_view> elements;
  } cases[] = {{"", {}},
               {",", {}},
               {" , ,, ", {}},
               {"a", {"a"}},
               {"a,b", {"a", "b"}},
               {" a ,\tb c\t,", {"a", "b c"}},
               {",,a,,b", {"a", "b"}}};
  for (const auto& c : cases) {
    std::vector<string_view> seen;
    for_each_element(c.list, [&](string_view element) { seen.push_back(element); });
    EXPECT_EQ(seen, c.elements) << '"' << c.list << '"';
  }
}

TEST(Text, ListHasComparesWholeElements) {
  EXPECT_TRUE(list_has("foo, Close", "close"));
  EXPECT_TRUE(list_has("CLOSE", "close"));
  EXPECT_TRUE(list_has("a,b,c", "b"));
  EXPECT_FALSE(list_has("closed, xclose", "close"));
  EXPECT_FALSE(list_has("", "close"));
  EXPECT_FALSE(list_has("a b", "a"));
}

TEST(Text, DecimalsAreDigitsOnly) {
  const struct {
    string_view digits;
    std::optional<std::uint64_t> value;
  } cases[] = {
      {"0", 0},
      {"7", 7},
      {"0007", 7},
      {"1048576", 1048576},
      {"18446744073709551615", std::numeric_limits<std::uint64_t>::max()},
      {"000000000000000000000000018446744073709551615", std::numeric_limits<std::uint64_t>::max()},
      {"18446744073709551616", std::nullopt},
      {"99999999999999999999999", std::nullopt},
      {"", std::nullopt},
      {"+5", std::nullopt},
      {"-1", std::nullopt},
      {"-0", std::nullopt},
      {" 5", std::nullopt},
      {"5 ", std::nullopt},
      {"1 16", std::nullopt},
      {"0x2", std::nullopt},
      {"abc", std::nullopt},
      {"2x", std::nullopt},
      {"1e1", std::nullopt},
      {"1.0", std::nullopt},
      {"2,3", std::nullopt},
      {"2\0"sv, std::nullopt},
      {"\xD9\xA1", std::nullopt}};
  for (const auto& c : cases) EXPECT_EQ(parse_decimal(c.digits), c.value) << '"' << c.digits << '"';
}

TEST(Text, DecimalsEndWithTheView) {
  EXPECT_EQ(parse_decimal(string_view("12345").substr(1, 2)), 23U);
}

TEST(Text, JsonEscapesQuotesBackslashesAndControls) {
  const struct {
    string_view text;
    string_view escaped;
  } cases[] = {{"", R"("")"},
               {"plain / text", R"("plain / text")"},
               {R"(say "hi" \ bye)", R"("say \"hi\" \\ bye")"},
               {"a\nb\rc\td", R"("a\nb\rc\td")"},
               {"\0\x01\x1f"sv, R"("\u0000\u0001\u001f")"},
               {"\b\f\v", R"("\u0008\u000c\u000b")"},
               {"\x7f", "\"\x7f\""},
               {"caf\xC3\xA9 \xE2\x82\xAC", "\"caf\xC3\xA9 \xE2\x82\xAC\""}};
  for (const auto& c : cases) EXPECT_EQ(json_quoted(c.text), c.escaped);
  std::string out = "x=";
  append_json_escaped(out, "a\"b");
  EXPECT_EQ(out, "x=a\\\"b");
}

}  // namespace
}  // namespace smg::text
