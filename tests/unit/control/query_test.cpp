#include "control/query.hpp"

#include <gtest/gtest.h>

namespace smg::control {
namespace {

TEST(Query, FindsAndDecodesAParameter) {
  struct Case {
    std::string_view query;
    std::optional<std::string> value;
  };
  const Case cases[] = {
      {"", std::nullopt},
      {"models=a", std::nullopt},
      {"model=a", "a"},
      {"model", ""},
      {"model=", ""},
      {"x=1&model=a&model=b", "a"},
      {"model=meta%2Fllama+3", "meta/llama 3"},
      {"mod%65l=a", "a"},
      {"model=a%2", "a%2"},
      {"model=%zz%", "%zz%"},
      {"&&model=a=b", "a=b"},
  };
  for (const auto& [query, value] : cases) {
    EXPECT_EQ(query_parameter(query, "model"), value) << query;
  }
}

}  // namespace
}  // namespace smg::control
