#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include <smg/relay/cors.hpp>

namespace smg::relay {
namespace {

http::Fields preflight_of(std::string_view origin, std::string_view asked) {
  http::Fields fields{{"Origin", origin}, {"Access-Control-Request-Method", "POST"}};
  if (!asked.empty()) fields.push_back({"Access-Control-Request-Headers", asked});
  return fields;
}

void fill(http::RequestHead& head, http::Fields fields) {
  head.method = http::Method::Options;
  head.fields = std::move(fields);
}

TEST(Cors, WithoutAListAnyOriginIsAnsweredWithAStar) {
  for (const auto& policy : {CorsPolicy({}), CorsPolicy({"*"}), CorsPolicy({"http://a", "*"})}) {
    for (const http::Fields& fields : {http::Fields{}, {{"Origin", "http://x"}}}) {
      http::RequestHead head;
      head.fields = fields;
      const auto answer = policy.answer(head);
      EXPECT_EQ(answer.allow_origin, "*");
      EXPECT_EQ(answer.expose_headers, "*");
      EXPECT_FALSE(answer.varies);
    }
  }
}

TEST(Cors, ListedOriginsCompareByteForByte) {
  const CorsPolicy policy({"http://a.test", "https://b.test:8443"});
  const std::pair<http::Fields, std::string_view> kCases[] = {
      {{{"Origin", "http://a.test"}}, "http://a.test"},
      {{{"origin", "https://b.test:8443"}}, "https://b.test:8443"},
      {{{"Origin", "https://a.test"}}, ""},
      {{{"Origin", "http://a.test:80"}}, ""},
      {{{"Origin", "http://A.test"}}, ""},
      {{{"Origin", "http://a.test.evil"}}, ""},
      {{{"Origin", "https://b.test"}}, ""},
      {{{"Origin", "null"}}, ""},
      {{{"Origin", "*"}}, ""},
      {{{"Origin", ""}}, ""},
      {{}, ""},
  };
  for (const auto& [fields, allowed] : kCases) {
    http::RequestHead head;
    head.fields = fields;
    const auto answer = policy.answer(head);
    EXPECT_EQ(answer.allow_origin, allowed);
    EXPECT_EQ(answer.expose_headers, allowed.empty() ? "" : "x-request-id");
    EXPECT_TRUE(answer.varies);
  }
}

TEST(Cors, APreflightIsAnOptionsWithOriginAndMethod) {
  http::RequestHead head;
  fill(head, preflight_of("http://a", "x"));
  EXPECT_TRUE(is_preflight(head));
  fill(head, preflight_of("http://a", ""));
  EXPECT_TRUE(is_preflight(head));
  head.method = http::Method::Get;
  EXPECT_FALSE(is_preflight(head));
  fill(head, {{"Origin", "http://a"}});
  EXPECT_FALSE(is_preflight(head));
  fill(head, {{"Access-Control-Request-Method", "POST"}});
  EXPECT_FALSE(is_preflight(head));
}

TEST(Cors, APreflightOfAnyOriginGetsWhatItAsksFor) {
  const std::pair<std::string_view, std::string_view> kCases[] = {
      {"", "*"},
      {"authorization", "authorization"},
      {"Authorization, X-Stainless-OS", "Authorization, X-Stainless-OS"},
      {"evil\xFF", "*"},
      {"a;b", "*"},
  };
  for (const auto& [asked, headers] : kCases) {
    http::RequestHead head;
    fill(head, preflight_of("http://x", asked));
    const auto granted = CorsPolicy({}).permission(head);
    EXPECT_EQ(granted.methods, "*");
    EXPECT_EQ(granted.headers, headers);
    EXPECT_EQ(granted.fields().size(), 3U);
    EXPECT_EQ(http::find_field(granted.fields(), "access-control-max-age")->value, "3600");
  }
}

TEST(Cors, APreflightOfAListedOriginGetsTheUsualAndWhatItAsksFor) {
  const CorsPolicy policy({"http://a"});
  http::RequestHead head;
  fill(head, preflight_of("http://a", "x-more"));
  const auto granted = policy.permission(head);
  EXPECT_EQ(granted.methods, "GET,POST,PUT,PATCH,DELETE,OPTIONS");
  EXPECT_EQ(granted.headers,
            "content-type,authorization,x-api-key,anthropic-version,anthropic-beta,x-more");
  fill(head, preflight_of("http://stranger", "x-more"));
  EXPECT_TRUE(policy.permission(head).fields().empty());
}

}  // namespace
}  // namespace smg::relay
