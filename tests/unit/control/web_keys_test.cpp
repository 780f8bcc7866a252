#include "control/web_keys.hpp"

#include <gtest/gtest.h>

#include "unit/control/token_maker.hpp"

namespace smg::control {
namespace {

constexpr std::string_view kClaims = R"({"sub":"someone"})";

/// Made once: keys take their time.
struct Makers {
  TokenMaker rsa = TokenMaker::rsa();
  TokenMaker other_rsa = TokenMaker::rsa();
  TokenMaker p256 = TokenMaker::ec("P-256");
  TokenMaker p384 = TokenMaker::ec("P-384");
};

const Makers& makers() {
  static const Makers made;
  return made;
}

std::shared_ptr<const WebKeys> keys_of(std::initializer_list<std::string> entries) {
  std::string json = R"({"keys":[)";
  for (const auto& entry : entries) json += (json.back() == '[' ? "" : ",") + entry;
  auto keys = WebKeys::parse(json + "]}");
  EXPECT_TRUE(keys) << keys.error().message;
  return *keys;
}

std::string header_of(std::string_view algorithm, std::string_view id, std::string_view more = {}) {
  return R"({"alg":")" + std::string(algorithm) + R"(","kid":")" + std::string(id) + "\"" +
         std::string(more) + "}";
}

TEST(WebKeys, VerifyTheAlgorithmsOfTheirKind) {
  const struct {
    const TokenMaker& maker;
    std::string_view algorithm;
    int bits;
  } cases[] = {{makers().rsa, "RS256", 256},
               {makers().rsa, "RS384", 384},
               {makers().rsa, "RS512", 512},
               {makers().p256, "ES256", 256},
               {makers().p384, "ES384", 384}};
  const auto keys =
      keys_of({makers().rsa.jwk("rsa"), makers().p256.jwk("p256"), makers().p384.jwk("p384")});
  ASSERT_EQ(keys->size(), 3U);
  for (const auto& test : cases) {
    for (const std::string_view id : {"rsa", "p256", "p384"}) {
      const auto checked =
          keys->check(test.maker.token(header_of(test.algorithm, id), kClaims, test.bits));
      const bool own = (id == "rsa" && test.algorithm.starts_with("RS")) ||
                       (id == "p256" && test.algorithm == "ES256") ||
                       (id == "p384" && test.algorithm == "ES384");
      EXPECT_EQ(checked.payload.has_value(), own) << id << test.algorithm << checked.fault;
      if (own) EXPECT_EQ(*checked.payload, kClaims);
      EXPECT_FALSE(checked.unknown_key);
    }
  }
}

TEST(WebKeys, TheKeyDecidesTheAlgorithm) {
  const auto& rsa = makers().rsa;
  const auto keys = keys_of({rsa.jwk("k", R"(,"alg":"RS256","use":"sig")")});
  EXPECT_TRUE(keys->check(rsa.token(header_of("RS256", "k"), kClaims)).payload);
  EXPECT_EQ(keys->check(rsa.token(header_of("RS512", "k"), kClaims, 512)).fault,
            "an algorithm that its key is not for");
  for (const std::string_view algorithm : {"none", "None", "HS256", "PS256", "RS1", "rs256", ""}) {
    const auto checked = keys->check(rsa.token(header_of(algorithm, "k"), kClaims));
    EXPECT_FALSE(checked.payload) << algorithm;
    EXPECT_FALSE(checked.unknown_key) << algorithm;
  }
}

TEST(WebKeys, AnUnknownKeyIsToldApart) {
  const auto& rsa = makers().rsa;
  const auto keys = keys_of({rsa.jwk("k")});
  EXPECT_TRUE(keys->check(rsa.token(header_of("RS256", "other"), kClaims)).unknown_key);
  // A key that the token brings along is nobody's.
  const auto brought = header_of("RS256", "new", R"(,"jwk":)" + makers().other_rsa.jwk("new"));
  EXPECT_TRUE(keys->check(makers().other_rsa.token(brought, kClaims)).unknown_key);
  const auto unnamed = keys->check(rsa.token(R"({"alg":"RS256"})", kClaims));
  EXPECT_FALSE(unnamed.unknown_key);
  EXPECT_EQ(unnamed.fault, "no key id");
}

TEST(WebKeys, RefuseWhatTheKeyHasNotSigned) {
  const auto keys = keys_of({makers().rsa.jwk("k"), makers().p256.jwk("e")});
  const auto expect_bad = [&](const std::string& token, std::string_view fault) {
    const auto checked = keys->check(token);
    EXPECT_FALSE(checked.payload) << token;
    EXPECT_FALSE(checked.unknown_key);
    if (!fault.empty()) EXPECT_EQ(checked.fault, fault) << token;
  };
  const std::string good = makers().rsa.token(header_of("RS256", "k"), kClaims);
  const auto first = good.find('.');
  const auto last = good.rfind('.');
  const std::string head = good.substr(0, first);
  const std::string admin = base64url(R"({"sub":"admin"})");
  expect_bad(head + "." + admin + good.substr(last), "wrong signature");
  expect_bad(makers().other_rsa.token(header_of("RS256", "k"), kClaims), "wrong signature");
  expect_bad(good.substr(0, last + 1), "");
  expect_bad(good.substr(0, last), "");
  expect_bad(good + ".x", "");
  expect_bad(good.substr(0, good.size() - 8), "wrong signature");
  expect_bad(makers().rsa.token(header_of("RS256", "k", R"(,"crit":["x"],"x":1)"), kClaims),
             "an extension that is not understood");
  for (const std::string& garbage :
       {std::string(), std::string("..."), std::string("a.b.c"), std::string(".."),
        std::string("\xFF.\x00.\x01", 5), base64url("{}") + "." + admin + ".AAAA",
        base64url("[]") + "." + admin + ".AAAA"}) {
    expect_bad(garbage, "");
  }
  expect_bad(std::string(20000, 'a'), "too long");
  // A signature of zeros was once good for any claims.
  for (const std::size_t size : {0U, 64U, 96U}) {
    expect_bad(
        base64url(header_of("ES256", "e")) + "." + admin + "." + base64url(std::string(size, '\0')),
        "");
  }
}

TEST(WebKeys, LeaveOutWhatIsOfNoUse) {
  const auto& p256 = makers().p256;
  const auto keys = keys_of(
      {p256.jwk("encryption", R"(,"use":"enc")"), p256.jwk(""), p256.jwk("numbered", R"(,"use":5)"),
       p256.jwk("other", R"(,"alg":"RS256")"), TokenMaker::rsa(1024).jwk("short"),
       TokenMaker::ec("P-521").jwk("p521"), R"({"kty":"oct","kid":"shared","k":"c2VjcmV0"})",
       R"({"kty":"RSA","kid":"broken","n":"?","e":"AQAB"})", R"({"kty":"RSA","kid":"empty"})",
       R"({"kty":"odd","kid":"odd"})", "5", p256.jwk("good")});
  EXPECT_EQ(keys->size(), 1U);
  EXPECT_TRUE(keys->check(p256.token(header_of("ES256", "good"), kClaims)).payload);
}

TEST(WebKeys, OnlyAKeySetIsRead) {
  for (const std::string_view json : {"", "nope", "[]", "{}", R"({"keys":5})", R"({"keys":[)"}) {
    EXPECT_FALSE(WebKeys::parse(json)) << json;
  }
  EXPECT_EQ(keys_of({})->size(), 0U);
}

TEST(LooksLikeToken, IsAboutTheDots) {
  EXPECT_TRUE(looks_like_token("a.b.c"));
  EXPECT_TRUE(looks_like_token(".."));
  EXPECT_FALSE(looks_like_token("a.b"));
  EXPECT_FALSE(looks_like_token("a.b.c.d"));
  EXPECT_FALSE(looks_like_token("key"));
}

}  // namespace
}  // namespace smg::control
