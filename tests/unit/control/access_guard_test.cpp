#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <smg/control/access_guard.hpp>

namespace smg::control {
namespace {

constexpr std::string_view kData = "/v1/chat/completions";
constexpr std::string_view kControl = "/workers";
constexpr std::string_view kOpen = "/health";

Verdict judged(const config::Access& access, std::string_view path, http::Fields fields = {}) {
  http::RequestHead head;
  head.path = path;
  head.fields = std::move(fields);
  return AccessGuard(access).check(head);
}

int status_of(const Verdict& verdict) {
  return verdict.refusal ? verdict.refusal->status() : 200;
}

// ---- credentials --------------------------------------------------------------------------------

TEST(Credential, IsTheFirstBearerCredential) {
  const std::pair<http::Fields, std::string_view> kCases[] = {
      {{}, ""},
      {{{"Authorization", "Bearer k"}}, "k"},
      {{{"authorization", "bearer k"}}, "k"},
      {{{"AUTHORIZATION", "BEARER k"}}, "k"},
      {{{"Authorization", "Bearer"}}, ""},
      {{{"Authorization", ""}}, ""},
      {{{"Authorization", "k"}}, ""},
      {{{"Authorization", "Basic k"}}, ""},
      {{{"Authorization", "Bearer\tk"}}, ""},
      {{{"Authorization", "Bearerk"}}, ""},
      {{{"Authorization", "Bearer  k"}}, " k"},
      {{{"Authorization", "Bearer k more"}}, "k more"},
      {{{"Authorization", "Bearer a"}, {"Authorization", "Bearer b"}}, "a"},
      {{{"Authorization", "Basic a"}, {"Authorization", "Bearer b"}}, ""},
      {{{"X-Api-Key", "k"}}, "k"},
      {{{"x-api-key", "a"}, {"x-api-key", "b"}}, "a"},
      {{{"x-api-key", "a"}, {"Authorization", "Bearer b"}}, "b"},
      {{{"x-api-key", "a"}, {"Authorization", "Basic b"}}, ""},
  };
  for (const auto& [fields, expected] : kCases) {
    http::RequestHead head;
    head.fields = fields;
    EXPECT_EQ(credential_of(head), expected) << (fields.empty() ? "" : fields.front().value);
  }
}

// ---- one key for everything ---------------------------------------------------------------------

TEST(AccessGuard, WithoutKeysEverythingIsOpen) {
  for (const auto path : {kData, kControl, kOpen}) {
    const auto verdict = judged({}, path, {{"Authorization", "Bearer clients-own"}});
    EXPECT_EQ(status_of(verdict), 200) << path;
    EXPECT_FALSE(verdict.hides_credential);
  }
}

TEST(AccessGuard, TheGatewaysKeyGuardsDataAndControl) {
  config::Access access;
  access.api_key = "secret";
  const std::pair<http::Fields, int> kCases[] = {
      {{}, 401},
      {{{"Authorization", "Bearer secret"}}, 200},
      {{{"Authorization", "bEARER secret"}}, 200},
      {{{"x-api-key", "secret"}}, 200},
      {{{"Authorization", "Bearer SECRET"}}, 401},
      {{{"Authorization", "Bearer secre"}}, 401},
      {{{"Authorization", "Bearer secrets"}}, 401},
      {{{"Authorization", "Bearer secret extra"}}, 401},
      {{{"Authorization", "Bearer "}}, 401},
      {{{"Authorization", "Bearer wrong"}, {"Authorization", "Bearer secret"}}, 401},
      {{{"Authorization", "Bearer wrong"}, {"x-api-key", "secret"}}, 401},
  };
  for (const auto& [fields, expected] : kCases) {
    for (const auto path : {kData, kControl}) {
      const auto verdict = judged(access, path, fields);
      EXPECT_EQ(status_of(verdict), expected) << (fields.empty() ? "" : fields.front().value);
      EXPECT_EQ(verdict.challenge, expected == 401 ? R"(Bearer realm="gateway")" : "");
      EXPECT_TRUE(verdict.hides_credential);
      // The answer to a wrong key tells nothing.
      if (verdict.refusal) EXPECT_EQ(verdict.refusal->message, "");
    }
    EXPECT_EQ(status_of(judged(access, kOpen, fields)), 200);
    EXPECT_TRUE(judged(access, kOpen, fields).hides_credential);
  }
}

// ---- keys of the control plane ------------------------------------------------------------------

config::Access with_control_keys() {
  config::Access access;
  access.control_keys = {{"k1", "Operations", config::Role::Admin, "adm"},
                         {"k2", "Reader", config::Role::User, "usr"},
                         {"k3", "Colons", config::Role::Admin, "a:b:c"}};
  return access;
}

TEST(AccessGuard, ControlKeysOpenTheControlPlaneToAdministrators) {
  const struct {
    http::Fields fields;
    int status;
    std::string_view message;
    std::string_view principal;
  } cases[] = {
      {{}, 401, "Missing or invalid Authorization header", "unauthenticated"},
      {{{"Authorization", "Basic adm"}},
       401,
       "Missing or invalid Authorization header",
       "unauthenticated"},
      {{{"Authorization", "Bearer nobody"}},
       401,
       "Invalid authentication token",
       "unauthenticated"},
      {{{"Authorization", "Bearer secret"}},
       401,
       "Invalid authentication token",
       "unauthenticated"},
      {{{"Authorization", "Bearer usr"}},
       403,
       "Admin role required for control plane access",
       "k2"},
      {{{"Authorization", "Bearer adm"}}, 200, "", "k1"},
      {{{"Authorization", "bearer a:b:c"}}, 200, "", "k3"},
      {{{"x-api-key", "adm"}}, 200, "", "k1"},
  };
  for (const bool with_gateway_key : {false, true}) {
    auto access = with_control_keys();
    if (with_gateway_key) access.api_key = "secret";
    for (const auto& test : cases) {
      const auto verdict = judged(access, kControl, test.fields);
      EXPECT_EQ(status_of(verdict), test.status) << test.message;
      EXPECT_EQ(verdict.refusal ? verdict.refusal->message : "", test.message);
      EXPECT_EQ(verdict.challenge, test.status == 401 ? R"(Bearer realm="control-plane")" : "");
      EXPECT_EQ(verdict.principal.id, test.principal);
      EXPECT_EQ(verdict.principal.method,
                test.principal == "unauthenticated" ? AuthMethod::None : AuthMethod::ApiKey);
      EXPECT_TRUE(verdict.hides_credential);
    }
  }
}

TEST(AccessGuard, ControlKeysDoNotOpenDataRoutes) {
  auto access = with_control_keys();
  access.api_key = "secret";
  const std::pair<std::string_view, int> kCases[] = {
      {"Bearer adm", 401}, {"Bearer usr", 401}, {"Bearer secret", 200}};
  for (const auto& [value, status] : kCases) {
    EXPECT_EQ(status_of(judged(access, kData, {{"Authorization", value}})), status) << value;
  }
}

TEST(AccessGuard, ControlKeysAloneLeaveDataOpenAndAreShownToNoWorker) {
  for (const auto path : {kData, kOpen}) {
    const auto access = with_control_keys();
    const auto clients = judged(access, path, {{"Authorization", "Bearer clients-own"}});
    EXPECT_EQ(status_of(clients), 200);
    EXPECT_FALSE(clients.hides_credential);
    const auto ours = judged(access, path, {{"Authorization", "Bearer usr"}});
    EXPECT_EQ(status_of(ours), 200);
    EXPECT_TRUE(ours.hides_credential);
  }
}

// ---- tokens -------------------------------------------------------------------------------------

TEST(AccessGuard, TokensAreForTheAuthorityAndKeysStayValid) {
  auto access = with_control_keys();
  access.control_keys.push_back({"k4", "Dots", config::Role::Admin, "d.o.t"});
  access.jwt_issuer = "https://issuer";
  const auto check = [&](std::string_view path, std::string_view value) {
    return judged(access, path, {{"Authorization", value}});
  };
  EXPECT_TRUE(check(kControl, "Bearer a.b.c").wants_token_check);
  EXPECT_TRUE(check(kControl, "Bearer d.o.t").wants_token_check);
  EXPECT_FALSE(check(kControl, "Bearer adm").wants_token_check);
  EXPECT_EQ(status_of(check(kControl, "Bearer adm")), 200);
  EXPECT_EQ(status_of(check(kControl, "Bearer a.b")), 401);
  EXPECT_FALSE(check(kData, "Bearer a.b.c").wants_token_check);
  EXPECT_FALSE(check(kOpen, "Bearer a.b.c").wants_token_check);
}

TEST(AccessGuard, TokensAloneCloseTheControlPlane) {
  config::Access access;
  access.api_key = "secret";
  access.jwt_issuer = "https://issuer";
  EXPECT_EQ(status_of(judged(access, kControl)), 401);
  EXPECT_EQ(status_of(judged(access, kControl, {{"Authorization", "Bearer secret"}})), 401);
  EXPECT_EQ(status_of(judged(access, kData, {{"Authorization", "Bearer secret"}})), 200);
}

}  // namespace
}  // namespace smg::control
