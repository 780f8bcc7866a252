#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <smg/routing/hints.hpp>

namespace smg::routing {
namespace {

std::string repeated(std::string_view id, int count) {
  std::string list(id);
  for (int i = 1; i < count; ++i) list.append(",").append(id);
  return list;
}

TEST(TokensHint, ValidForms) {
  const std::vector<std::string> valid = {
      "1",
      "0",
      "1,2,3",
      "101,7592,2088",
      "4294967295",
      "007",
      repeated("7", 512),
      std::string(4095, '0') + "1",
  };
  for (const auto& hint : valid) EXPECT_TRUE(is_valid_tokens_hint(hint)) << hint;
}

TEST(TokensHint, InvalidForms) {
  using namespace std::string_literals;
  const std::vector<std::string> invalid = {
      "",
      "abc",
      "1,",
      ",1",
      ",",
      "1,,2",
      "1, 2",
      "1 ,2",
      " 1",
      "1 ",
      "-1",
      "+1",
      "1.0",
      "0x1",
      "1;2",
      "1e3",
      "4294967296",
      "18446744073709551616",
      "[1,2]",
      "\"1\"",
      "\xD9\xA1",
      "1\0"s,
      "1,2,abc",
      repeated("7", 513),
      std::string(4096, '0') + "1",
  };
  for (const auto& hint : invalid) EXPECT_FALSE(is_valid_tokens_hint(hint)) << hint;
}

TEST(TokensHint, GivesItsIds) {
  EXPECT_EQ(parse_tokens_hint("3,0,4294967295,007"),
            (std::vector<std::uint32_t>{3, 0, 4294967295U, 7}));
  EXPECT_EQ(parse_tokens_hint("1, 2"), std::nullopt);
  EXPECT_EQ(parse_tokens_hint(repeated("9", 512))->size(), 512U);
}

}  // namespace
}  // namespace smg::routing
