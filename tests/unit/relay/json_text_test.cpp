#include "relay/json_text.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace smg::relay::json {
namespace {

TEST(JsonText, Numbers) {
  for (const std::string_view text :
       {"0", "-0", "7", "10", "-10", "0.5", "1.25", "1e5", "1E5", "1e+5", "1e-05", "0e0", "-0.0e-0",
        "123456789012345678901234567890"}) {
    EXPECT_TRUE(is_number(text)) << text;
  }
  for (const std::string_view text :
       {"",     "-",  "+1", "00", "01",  "-01",  "1.",  ".5",   "-.5", "1e", "1e+",
        "1.e5", "1 ", " 1", "1a", "0x1", "1e5.", "--1", "1..2", "1,",  "e5"}) {
    EXPECT_FALSE(is_number(text)) << text;
  }
}

TEST(JsonText, NumberValues) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  struct Case {
    const char* text;
    double value;
  };
  const std::string many_digits = std::string(400, '9');
  const std::string tiny = "0." + std::string(400, '0') + "1";
  for (const auto& [text, value] :
       {Case{"0.95", 0.95}, Case{"-2", -2}, Case{"2e1", 20}, Case{"1e400", kInfinity},
        Case{"-1e400", -kInfinity}, Case{"1e-400", 0}, Case{tiny.c_str(), 0},
        Case{many_digits.c_str(), kInfinity}, Case{"9007199254740992", 9007199254740992.0}}) {
    EXPECT_EQ(number_value(text), value) << text;
  }
}

TEST(JsonText, Escapes) {
  struct Case {
    std::string_view inside;
    std::string_view text;
  };
  using namespace std::string_view_literals;
  for (const auto& [inside, text] :
       {Case{"", ""}, Case{"plain", "plain"}, Case{R"(\"\\\/\b\f\n\r\t)", "\"\\/\b\f\n\r\t"},
        Case{R"(\u0000)", "\0"sv}, Case{R"(\u007F\u0080\u07ff)", "\x7F\xC2\x80\xDF\xBF"},
        Case{R"(\u0800\uFFFF)", "\xE0\xA0\x80\xEF\xBF\xBF"},
        Case{R"(\ud7ff\ue000)", "\xED\x9F\xBF\xEE\x80\x80"},
        Case{R"(\ud800\udc00)", "\xF0\x90\x80\x80"}, Case{R"(\uDBFF\uDFFF)", "\xF4\x8F\xBF\xBF"},
        Case{R"(a\u0062c\\u0062)", R"(abc\u0062)"}}) {
    EXPECT_TRUE(escapes_are_valid(inside)) << inside;
    EXPECT_EQ(unescaped(inside), text) << inside;
  }
  for (const std::string_view inside :
       {R"(\)", R"(a\)", R"(\x)", R"(\u)", R"(\u1)", R"(\u123)", R"(\u123g)", R"(\ud800)",
        R"(\udfff)", R"(\ud800\)", R"(\ud800\u)", R"(\ud800\udbff)", R"(\ud800 \udc00)",
        R"(\ud800\ndc00)", R"(\0)", R"(\ )"}) {
    EXPECT_FALSE(escapes_are_valid(inside)) << inside;
  }
}

TEST(JsonText, TrailingSpace) {
  EXPECT_EQ(without_trailing_space("a b \t\r\n"), "a b");
  EXPECT_EQ(without_trailing_space("\v "), "\v");
  EXPECT_EQ(without_trailing_space(" \n"), "");
}

}  // namespace
}  // namespace smg::relay::json
