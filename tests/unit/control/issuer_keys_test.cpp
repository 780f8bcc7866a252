#include "control/issuer_keys.hpp"

#include <gtest/gtest.h>

namespace smg::control {
namespace {

TEST(KeySetUrl, ComesFromTheIssuersOwnDocument) {
  const struct {
    std::string_view document;
    std::string_view issuer;
    std::string_view url;  ///< empty: refused
  } cases[] = {
      {R"({"issuer":"https://i","jwks_uri":"https://keys/j"})", "https://i", "https://keys/j"},
      {R"({"issuer":"http://localhost","jwks_uri":"http://localhost/j"})", "http://localhost",
       "http://localhost/j"},
      {R"({"issuer":"https://i","jwks_uri":"http://localhost/j"})", "https://i", ""},
      {R"({"issuer":"https://i/","jwks_uri":"https://i/j"})", "https://i", ""},
      {R"({"issuer":"https://evil","jwks_uri":"https://i/j"})", "https://i", ""},
      {R"({"jwks_uri":"https://i/j"})", "https://i", ""},
      {R"({"issuer":"https://i"})", "https://i", ""},
      {R"({"issuer":"https://i","jwks_uri":5})", "https://i", ""},
      {"[]", "https://i", ""},
      {"<html>", "https://i", ""},
  };
  for (const auto& test : cases) {
    const auto url = key_set_url(test.document, test.issuer);
    EXPECT_EQ(url ? *url : "", test.url) << test.document;
  }
}

TEST(RefreshAllowance, IsSoManyInAnySpan) {
  RefreshAllowance allowance;
  const net::TimePoint start{};
  const auto at = [&](int seconds) {
    return allowance.take(start + std::chrono::seconds(seconds));
  };
  for (std::size_t i = 0; i < RefreshAllowance::kMost; ++i)
    EXPECT_TRUE(at(10 * static_cast<int>(i)));
  EXPECT_FALSE(at(41));
  EXPECT_FALSE(at(59));
  EXPECT_TRUE(at(60));
  EXPECT_FALSE(at(60));
  EXPECT_TRUE(at(70));
  EXPECT_FALSE(at(71));
}

}  // namespace
}  // namespace smg::control
