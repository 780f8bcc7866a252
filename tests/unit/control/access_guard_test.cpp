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

}  // namespace
}  // namespace smg::control
