#include "observability/log_format.hpp"

#include <chrono>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace smg::observability {
namespace {

using std::string;
using Fields = std::vector<LogField>;

/// 2026-11-30 04:09:47 UTC.
const std::chrono::system_clock::time_point kTime{std::chrono::seconds(1796011787)};

[[nodiscard]] string line(LogForm form, LogLevel level, std::string_view message,
                          const Fields& fields = {}) {
  string payload;
  append_payload(payload, form, message, fields);
  string out;
  append_line(out, form, kTime, level, payload);
  return out;
}

TEST(LogFormat, LevelsInAllForms) {
  const struct {
    LogLevel level;
    const char* text;
    const char* coloured;
    const char* json;
  } cases[] = {{LogLevel::Debug, "DEBUG", "\x1b[34mDEBUG\x1b[0m", "DEBUG"},
               {LogLevel::Info, " INFO", "\x1b[32m INFO\x1b[0m", "INFO"},
               {LogLevel::Warn, " WARN", "\x1b[33m WARN\x1b[0m", "WARN"},
               {LogLevel::Error, "ERROR", "\x1b[31mERROR\x1b[0m", "ERROR"}};
  for (const auto& c : cases) {
    EXPECT_EQ(line(LogForm::Text, c.level, "hello"),
              string("2026-11-30 04:09:47 ") + c.text + " hello\n");
    EXPECT_EQ(line(LogForm::ColouredText, c.level, "hello"),
              string("2026-11-30 04:09:47 ") + c.coloured + " hello\n");
    EXPECT_EQ(line(LogForm::Json, c.level, "hello"),
              string(R"({"timestamp":"2026-11-30 04:09:47","level":")") + c.json +
                  R"(","message":"hello","target":"smg","fields":{}})" + "\n");
  }
}

TEST(LogFormat, FieldsFollowTheMessage) {
  const Fields fields{{"a", "x"}, {"b", 1}};
  EXPECT_EQ(line(LogForm::Text, LogLevel::Warn, "slow worker", fields),
            "2026-11-30 04:09:47  WARN slow worker a=x b=1\n");
  EXPECT_EQ(line(LogForm::Json, LogLevel::Warn, "slow worker", fields),
            R"({"timestamp":"2026-11-30 04:09:47","level":"WARN","message":"slow worker",)"
            R"("target":"smg","fields":{"a":"x","b":1}})"
            "\n");
}

struct ValueCase {
  LogValue value;
  const char* text;
  const char* json;
};

TEST(LogFormat, ValuesOfEveryType) {
  const string owned = "owned";
  const ValueCase cases[] = {
      {"plain", "plain", R"("plain")"},
      {owned, "owned", R"("owned")"},
      {std::string_view("http://h:1/p"), "http://h:1/p", R"("http://h:1/p")"},
      {"", R"("")", R"("")"},
      {"two words", R"("two words")", R"("two words")"},
      {"a=b", R"("a=b")", R"("a=b")"},
      {R"(say "hi" \ bye)", R"("say \"hi\" \\ bye")", R"("say \"hi\" \\ bye")"},
      {-5, "-5", "-5"},
      {std::numeric_limits<std::int64_t>::min(), "-9223372036854775808", "-9223372036854775808"},
      {std::numeric_limits<std::uint64_t>::max(), "18446744073709551615", "18446744073709551615"},
      {std::uint16_t{80}, "80", "80"},
      {0.25, "0.25", "0.25"},
      {0.1F, "0.10000000149011612", "0.10000000149011612"},
      {std::nan(""), "nan", "null"},
      {std::numeric_limits<double>::infinity(), "inf", "null"},
      {true, "true", "true"},
      {false, "false", "false"},
  };
  for (const auto& c : cases) {
    const LogField field{"k", c.value};
    string text;
    append_payload(text, LogForm::Text, "m", std::span(&field, 1));
    EXPECT_EQ(text, string("m k=") + c.text);
    string json;
    append_payload(json, LogForm::Json, "m", std::span(&field, 1));
    EXPECT_EQ(json, string(R"("message":"m","target":"smg","fields":{"k":)") + c.json + "}}");
  }
}

struct HostileCase {
  std::string_view raw;
  const char* escaped;
};

TEST(LogFormat, NothingBreaksOutOfItsLine) {
  using namespace std::string_view_literals;
  const HostileCase cases[] = {
      {"a\nb", R"(a\nb)"},
      {"a\r\nb", R"(a\r\nb)"},
      {"a\tb", R"(a\tb)"},
      {"\0"sv, R"(\u0000)"},
      {"\x1b[31m", R"(\u001b[31m)"},
      {"\x7f", R"(\u007f)"},
      {"\xc2\x9b", R"(\u009b)"},      // CSI of Latin-1
      {"\xe2\x80\xa8", R"(\u2028)"},  // a line separator
      {"caf\xc3\xa9 \xf0\x9f\x98\x80", "caf\xc3\xa9 \xf0\x9f\x98\x80"},
      {"caf\xe9", R"(caf\ufffd)"},                          // Latin-1
      {"\xc0\x8a", R"(\ufffd\ufffd)"},                      // an overlong line feed
      {"\xe0\x80\x8a", R"(\ufffd\ufffd\ufffd)"},            // a longer one
      {"\xed\xa0\x80", R"(\ufffd\ufffd\ufffd)"},            // a surrogate
      {"\xf4\x90\x80\x80", R"(\ufffd\ufffd\ufffd\ufffd)"},  // past the last character
      {"\xf0\x9f\x98", R"(\ufffd\ufffd\ufffd)"},            // cut off
      {"\xe2\x82z", R"(\ufffd\ufffdz)"},
  };
  for (const auto& c : cases) {
    const string quoted = string("\"") + c.escaped + "\"";
    const LogField field{"k", c.raw};
    string text;
    append_payload(text, LogForm::Text, c.raw, std::span(&field, 1));
    EXPECT_EQ(text, c.escaped + string(" k=") + quoted);
    string json;
    append_payload(json, LogForm::Json, c.raw, std::span(&field, 1));
    EXPECT_EQ(json, R"("message":)" + quoted + R"(,"target":"smg","fields":{"k":)" + quoted + "}}");
  }
}

TEST(LogFormat, JsonMessageIsQuotedRight) {
  string json;
  append_payload(json, LogForm::Json, R"(a "b" \c)", {});
  EXPECT_EQ(json, R"("message":"a \"b\" \\c","target":"smg","fields":{}})");
}

TEST(LogFormat, DateIsUtc) {
  EXPECT_EQ(date_of(kTime), "2026-11-30");
  EXPECT_EQ(date_of(std::chrono::system_clock::time_point{}), "1970-01-01");
}

}  // namespace
}  // namespace smg::observability
