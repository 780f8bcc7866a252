#include "cli/support_status.hpp"

#include <set>

#include <gtest/gtest.h>

namespace smg::cli {
namespace {

TEST(SupportStatus, IsFoundByTheFirstName) {
  ASSERT_NE(find_refused("--enable-mesh"), nullptr);
  EXPECT_EQ(find_refused("--enable"), nullptr);
  EXPECT_EQ(find_refused("--api-key"), nullptr);
  EXPECT_EQ(find_refused("--port"), nullptr);
}

TEST(SupportStatus, NamesEachFlagOnce) {
  std::set<std::string_view> names;
  for (const auto& flag : refused_flags()) {
    EXPECT_TRUE(names.insert(flag.names).second) << flag.names;
    EXPECT_TRUE(flag.names.starts_with("--")) << flag.names;
    EXPECT_FALSE(is_of_refused_family(flag.names)) << flag.names;
  }
}

TEST(SupportStatus, KnowsFamilies) {
  EXPECT_TRUE(is_of_refused_family("--redis-url"));
  EXPECT_TRUE(is_of_refused_family("--tokenizer-cache-enable-l0"));
  EXPECT_FALSE(is_of_refused_family("--redis"));
  EXPECT_FALSE(is_of_refused_family("--tokenizer-path"));
}

TEST(SupportStatus, KnowsChoices) {
  EXPECT_TRUE(is_refused_value("--backend", "openai"));
  EXPECT_FALSE(is_refused_value("--backend", "vllm"));
  EXPECT_FALSE(is_refused_value("--policy", "openai"));
}

}  // namespace
}  // namespace smg::cli
