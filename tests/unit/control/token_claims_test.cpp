#include "control/token_claims.hpp"

#include <gtest/gtest.h>

namespace smg::control {
namespace {

constexpr std::chrono::system_clock::time_point kNow{std::chrono::seconds(1000000)};
constexpr std::string_view kUs = R"("iss":"https://issuer","aud":"gateway","sub":"someone")";

config::Access settings_with(std::map<std::string, config::Role> roles = {}) {
  config::Access settings;
  settings.jwt_issuer = "https://issuer";
  settings.jwt_audience = "gateway";
  settings.jwt_roles = std::move(roles);
  return settings;
}

JudgedClaims judged(std::string_view claims, std::map<std::string, config::Role> roles = {}) {
  return judge_claims(claims, settings_with(std::move(roles)), kNow);
}

TEST(TokenClaims, TheTimesHaveALeewayOfHalfAMinute) {
  const std::pair<std::string_view, std::string_view> kCases[] = {
      {R"("exp":1000001)", ""},
      {R"("exp":999970)", ""},
      {R"("exp":999969)", "expired"},
      {R"("exp":999970.5)", ""},
      {R"("exp":1e300)", ""},
      {R"("exp":-1)", "expired"},
      {R"("exp":"1000001")", "no expiry"},
      {R"("exp":null)", "no expiry"},
      {R"("iat":1)", "no expiry"},
      {R"("exp":1000001,"nbf":1000030)", ""},
      {R"("exp":1000001,"nbf":1000031)", "not valid yet"},
      {R"("exp":1000001,"nbf":"0")", "not valid yet"},
  };
  for (const auto& [times, fault] : kCases) {
    const auto verdict = judged("{" + std::string(kUs) + "," + std::string(times) + "}");
    EXPECT_EQ(verdict.fault, fault) << times;
    EXPECT_EQ(verdict.principal.has_value(), fault.empty()) << times;
  }
}

TEST(TokenClaims, IssuerAndAudienceAreRequired) {
  const std::pair<std::string_view, std::string_view> kCases[] = {
      {R"("iss":"https://issuer","aud":"gateway")", ""},
      {R"("iss":"https://issuer","aud":["other","gateway"])", ""},
      {R"("iss":"https://issuer","aud":"other")", "another audience"},
      {R"("iss":"https://issuer","aud":[])", "another audience"},
      {R"("iss":"https://issuer","aud":[["gateway"]])", "another audience"},
      {R"("iss":"https://issuer","aud":null)", "another audience"},
      {R"("iss":"https://issuer")", "another audience"},
      {R"("iss":"https://issuer/","aud":"gateway")", "another issuer"},
      {R"("iss":["https://issuer"],"aud":"gateway")", "another issuer"},
      {R"("aud":"gateway")", "another issuer"},
  };
  for (const auto& [claims, fault] : kCases) {
    EXPECT_EQ(judged("{\"exp\":1000001," + std::string(claims) + "}").fault, fault) << claims;
  }
  for (const std::string_view json : {"", "[]", "5", "{", "null"}) {
    EXPECT_EQ(judged(json).fault, "unreadable claims") << json;
  }
}

TEST(TokenClaims, TheFirstRoleClaimDecides) {
  using enum config::Role;
  const std::map<std::string, config::Role> mapping{{"Ops", Admin}, {"Dev", User}};
  const struct {
    std::string_view claims;
    bool mapped;
    config::Role role;
  } cases[] = {
      {R"("roles":["Ops"])", true, Admin},
      {R"("roles":"Ops")", true, Admin},
      {R"("roles":["Dev","Ops"])", true, Admin},
      {R"("roles":["Dev2","Ops"])", true, Admin},
      {R"("role":"Ops")", true, Admin},
      {R"("groups":["Ops"])", true, Admin},
      {R"("group":"Ops")", true, Admin},
      {R"("roles":["Dev"],"groups":["Ops"])", true, User},
      {R"("roles":null,"groups":["Ops"])", true, Admin},
      {R"("roles":["Stranger"])", true, User},
      {R"("roles":["ops"])", true, User},
      {R"("roles":["admin"])", true, User},
      {R"("roles":{"Ops":true})", true, User},
      {R"("roles":[5,null])", true, User},
      {R"("x":1)", true, User},
      {R"("roles":["admin"])", false, Admin},
      {R"("roles":["Admin"])", false, User},
      {R"("roles":["user"])", false, User},
      {R"("x":1)", false, User},
  };
  for (const auto& test : cases) {
    const auto verdict =
        judged("{\"exp\":1000001," + std::string(kUs) + "," + std::string(test.claims) + "}",
               test.mapped ? mapping : std::map<std::string, config::Role>{});
    ASSERT_TRUE(verdict.principal) << test.claims;
    EXPECT_EQ(verdict.principal->role, test.role) << test.claims;
    EXPECT_EQ(verdict.principal->id, "someone");
    EXPECT_EQ(verdict.principal->method, AuthMethod::Jwt);
  }
}

}  // namespace
}  // namespace smg::control
