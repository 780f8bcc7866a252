#include <gtest/gtest.h>

#include <smg/config/otlp_endpoint.hpp>

namespace smg::config {
namespace {

TEST(OtlpEndpoint, IsAHostAndAPort) {
  const struct {
    std::string_view text;
    std::string_view host;
    std::uint16_t port;
  } cases[] = {
      {"localhost:4318", "localhost", 4318},
      {"127.0.0.1:9", "127.0.0.1", 9},
      {"Collector.Example:65535", "collector.example", 65535},
      {"collector:80", "collector", 80},
      {"[::1]:4318", "::1", 4318},
  };
  for (const auto& test : cases) {
    const auto endpoint = parse_otlp_endpoint(test.text);
    ASSERT_TRUE(endpoint) << test.text;
    EXPECT_EQ(endpoint->scheme, "http");
    EXPECT_EQ(endpoint->host, test.host);
    EXPECT_EQ(endpoint->port, test.port);
  }
}

TEST(OtlpEndpoint, IsNothingElse) {
  for (const std::string_view text : {"",
                                      "bad",
                                      ":4318",
                                      "host:",
                                      "host:0",
                                      "host:65536",
                                      "host:port",
                                      "host:-1",
                                      "host:4318/",
                                      "host:4318/v1/traces",
                                      "/host:4318",
                                      "http://host:4318",
                                      "user@host:4318",
                                      "host :4318",
                                      "host:4318?a",
                                      "host:4318#a",
                                      "::1",
                                      "[::1]",
                                      "[::1]:",
                                      "::1:4318",
                                      "a:b:4318"}) {
    const auto endpoint = parse_otlp_endpoint(text);
    ASSERT_FALSE(endpoint) << text;
    EXPECT_TRUE(endpoint.error().message.starts_with("Must be host:port")) << text;
  }
}

}  // namespace
}  // namespace smg::config
