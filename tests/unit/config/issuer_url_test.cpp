#include <gtest/gtest.h>

#include <smg/config/issuer_url.hpp>

namespace smg::config {
namespace {

TEST(IssuerUrl, IsHttpsOrThisMachine) {
  const struct {
    std::string_view text;
    std::string_view server;  ///< empty: refused
    std::string_view target;
  } cases[] = {
      {"https://i.test", "https://i.test", "/"},
      {"https://i.test:8443/realms/x?a=b", "https://i.test:8443", "/realms/x?a=b"},
      {"https://i.test?a=b", "https://i.test", "/?a=b"},
      {"https://i.test/x#y", "https://i.test", "/x"},
      {"http://localhost:9/x", "http://localhost:9", "/x"},
      {"http://127.0.0.1:9", "http://127.0.0.1:9", "/"},
      {"http://[::1]:9/", "http://[::1]:9", "/"},
      {"http://i.test", "", ""},
      {"http://10.0.0.1", "", ""},
      {"http://localhost.evil.test", "", ""},
      {"http://127.0.0.1@evil.test/", "", ""},
      {"grpcs://i.test", "", ""},
      {"ftp://i.test", "", ""},
      {"i.test", "", ""},
      {"https://", "", ""},
      {"https://u:p@i.test/", "", ""},
      {"https://i.test/a b", "", ""},
      {"https://i.test/a\r\nx: y", "", ""},
      {"", "", ""},
  };
  for (const auto& test : cases) {
    const auto url = parse_issuer_url(test.text);
    EXPECT_EQ(url.has_value(), !test.server.empty()) << test.text;
    if (!url) continue;
    EXPECT_EQ(url->server.text, test.server) << test.text;
    EXPECT_EQ(url->target, test.target) << test.text;
  }
}

TEST(IssuerUrl, DiscoveryStandsBehindTheIssuer) {
  EXPECT_EQ(discovery_url("https://i/realms/x"),
            "https://i/realms/x/.well-known/openid-configuration");
  EXPECT_EQ(discovery_url("https://i/"), "https://i/.well-known/openid-configuration");
}

}  // namespace
}  // namespace smg::config
