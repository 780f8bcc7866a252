#include <gtest/gtest.h>

#include <smg/config/ip_literal.hpp>
#include <smg/config/worker_url.hpp>

namespace smg::config {
namespace {

struct Accepted {
  std::string_view input;
  WorkerUrl url;
  std::string_view authority;
};

TEST(WorkerUrl, IsNormalised) {
  const Accepted kCases[] = {
      {"http://127.0.0.1:9", {"http", "127.0.0.1", 9, "http://127.0.0.1:9"}, "127.0.0.1:9"},
      {"http://Worker-1.Example:8000/",
       {"http", "worker-1.example", 8000, "http://worker-1.example:8000"},
       "worker-1.example:8000"},
      {"http://a", {"http", "a", 80, "http://a"}, "a"},
      {"http://a:80/", {"http", "a", 80, "http://a"}, "a"},
      {"https://a:443", {"https", "a", 443, "https://a"}, "a"},
      {"https://a:80", {"https", "a", 80, "https://a:80"}, "a:80"},
      {"http://a:0080", {"http", "a", 80, "http://a"}, "a"},
      {"http://some_service:65535",
       {"http", "some_service", 65535, "http://some_service:65535"},
       "some_service:65535"},
      {"http://[::1]:9", {"http", "::1", 9, "http://[::1]:9"}, "[::1]:9"},
      {"http://[0:0::0001]", {"http", "::1", 80, "http://[::1]"}, "[::1]"},
      {"http://[FE80::A]/", {"http", "fe80::a", 80, "http://[fe80::a]"}, "[fe80::a]"},
      {"grpc://a:50051", {"grpc", "a", 50051, "grpc://a:50051"}, "a:50051"},
      {"grpcs://a", {"grpcs", "a", 443, "grpcs://a"}, "a"},
      {"ipc:///run/engine", {"ipc", "", 0, "ipc:///run/engine"}, "/run/engine"},
  };
  for (const auto& test : kCases) {
    const auto url = parse_worker_url(test.input);
    ASSERT_TRUE(url) << test.input << ": " << url.error().message;
    EXPECT_EQ(*url, test.url) << test.input << " became " << url->text;
    EXPECT_EQ(url->authority(), test.authority) << test.input;
  }
}

TEST(WorkerUrl, IsStableUnderNormalisation) {
  for (const auto text : {"http://A:80/", "https://[::0]:1", "ipc:///a/b/"}) {
    const auto once = parse_worker_url(text);
    ASSERT_TRUE(once) << text;
    const auto twice = parse_worker_url(once->text);
    ASSERT_TRUE(twice) << once->text;
    EXPECT_EQ(*once, *twice);
  }
}

TEST(WorkerUrl, RefusesWithAReason) {
  const std::pair<std::string_view, std::string_view> kCases[] = {
      {"", "must start with"},
      {"127.0.0.1:9", "must start with"},
      {"ftp://127.0.0.1:9", "must start with"},
      {"HTTP://127.0.0.1:9", "must start with"},
      {"http:/a", "must start with"},
      {"tcp://a:1", "must start with"},
      {"http://", "empty host"},
      {"http:///x", "empty host"},
      {"http://:80", "empty host"},
      {"http://::1:9", "empty host"},
      {"http://a:99999", "port"},
      {"http://a:0", "port"},
      {"http://a:", "port"},
      {"http://a:-1", "port"},
      {"http://a:+1", "port"},
      {"http://a:8x", "port"},
      {"http://a b:9", "blank"},
      {"http://a\r\nx:9", "control"},
      {"http://b\xC3\xBC"
       "cher",
       "non-ASCII"},
      {"http://a%41:9", "invalid host"},
      {"http://a..b", "invalid host"},
      {"http://.a", "invalid host"},
      {"http://127.1", "invalid host"},
      {"http://999.1.1.1", "invalid host"},
      {"http://2130706433", "invalid host"},
      {"http://[::1", "invalid host"},
      {"http://[127.0.0.1]", "invalid host"},
      {"http://[fe80::1%eth0]", "invalid host"},
      {"http://[::1]x:9", "invalid host"},
      {"http://a:1/v1", "path"},
      {"http://a:1?x", "query"},
      {"http://a:1#x", "fragment"},
      {"http://u:p@a:1", "user info"},
      {"http://@a", "user info"},
      {"ipc://", "empty path"},
      {"ipc:///", "empty path"},
  };
  for (const auto& [text, reason] : kCases) {
    const auto url = parse_worker_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().code, ErrorCode::BadRequest) << text;
    EXPECT_NE(url.error().message.find(reason), std::string::npos)
        << text << ": " << url.error().message;
  }
}

TEST(WorkerUrl, NeverRepeatsAPassword) {
  for (const auto text : {"http://u:secret@a", "http://u:sec/ret@a", "u:secret@a"}) {
    const auto url = parse_worker_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_EQ(url.error().message.find("sec"), std::string::npos) << url.error().message;
    EXPECT_EQ(without_user_info(text).find("sec"), std::string::npos) << text;
  }
  EXPECT_EQ(without_user_info("http://u:p@a:1"), "http://***@a:1");
  EXPECT_EQ(without_user_info("http://a:1"), "http://a:1");
}

TEST(IpLiteral, TakesAddressesWithAndWithoutBrackets) {
  EXPECT_EQ(ip_literal("0.0.0.0"), "0.0.0.0");
  EXPECT_EQ(ip_literal("::1"), "::1");
  EXPECT_EQ(ip_literal("[::1]"), "::1");
  EXPECT_EQ(ip_literal("[0:0::]"), "::");
  for (const auto text :
       {"", "localhost", "[127.0.0.1]", "1.2.3", "01.2.3.4", "[]", "::1%lo", ":"}) {
    EXPECT_EQ(ip_literal(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace smg::config
