#include "relay/routing_inputs.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace smg::relay {
namespace {

using Tokens = std::vector<std::uint32_t>;

routing::ModelPool pool_of(std::string_view policy, const config::Fleet& fleet = {}) {
  config::GatewayConfig config;
  config.fleet = fleet;
  return {"m", {}, routing::make_policy(policy, config), nullptr};
}

/// A request of fields and a body, and what it is routed by.
class RoutingInputsTest : public ::testing::Test {
 protected:
  void field(std::string_view name, std::string_view value) {
    head_.fields.push_back({name, value});
  }

  RoutingInputs& inputs(std::string_view policy, const std::string& json = R"({"text":"words"})") {
    pool_ = pool_of(policy, fleet_);
    inputs_.emplace(head_, fleet_, pool_);
    body_.append(json);
    auto fields = inspect_body(InferenceRoute::Generate, body_);
    EXPECT_TRUE(fields.has_value());
    inputs_->add_body(InferenceRoute::Generate, body_, *fields);
    return *inputs_;
  }

  static Tokens tokens(const RoutingInputs& inputs) {
    const auto span = inputs.request().tokens;
    return {span.begin(), span.end()};
  }

  config::Fleet fleet_;

 private:
  http::RequestHead head_;
  routing::ModelPool pool_;
  BodyBuffer body_;
  std::optional<RoutingInputs> inputs_;
};

TEST_F(RoutingInputsTest, TakesKeysAndIdentitiesFromTheHead) {
  field("X-SMG-Routing-Key", "key");
  field("x-smg-target-worker", "1");
  field("Cookie", "");
  field("X-Forwarded-For", "10.0.0.1");
  const auto& request = inputs("consistent_hashing").request();
  EXPECT_EQ(request.model, "m");
  EXPECT_EQ(request.routing_key, "key");
  EXPECT_EQ(request.target_worker, "1");
  EXPECT_EQ(request.authorization, std::nullopt);
  EXPECT_EQ(request.x_forwarded_for, "10.0.0.1");
  EXPECT_EQ(request.cookie, "");
}

TEST_F(RoutingInputsTest, ReadsSessionsUnderTheOverrideOnly) {
  field("x-first", std::string_view());
  field("x-second", "two_t1");
  fleet_.routing_key_headers = {"x-none", "x-first", "x-second"};
  const auto& without = inputs("random", R"({"rid":"r"})").request();
  EXPECT_EQ(without.rid, "");
  EXPECT_EQ(without.session_header, "");
}

TEST_F(RoutingInputsTest, TakesTheFirstHeaderThatNamesASession) {
  const std::string too_long(129, 'k');
  field("x-first", too_long);
  field("x-second", "two_t1");
  field("x-third", "three");
  fleet_.routing_key_override = true;
  fleet_.routing_key_headers = {"x-none", "x-first", "x-second", "x-third"};
  const auto& with = inputs("random", R"({"rid":"r\u0031"})").request();
  EXPECT_EQ(with.rid, "r1");
  EXPECT_EQ(with.session_header, "two_t1");
}

TEST_F(RoutingInputsTest, ReadsOnlyWhatThePolicyLooksAt) {
  const struct {
    std::string_view policy;
    Tokens tokens;
    std::string_view text;
  } kCases[] = {
      {"random", {}, ""},          {"manual", {}, ""},           {"consistent_hashing", {}, ""},
      {"least_load", {1, 2}, ""},  {"power_of_two", {1, 2}, ""}, {"prefix_hash", {1, 2}, ""},
      {"cache_aware", {1, 2}, ""},
  };
  for (const auto& test : kCases) {
    const auto pool = pool_of(test.policy);
    BodyBuffer body;
    body.append(R"({"text":"words","input_ids":[1,2]})");
    const http::RequestHead head;
    RoutingInputs read(head, fleet_, pool);
    auto fields = inspect_body(InferenceRoute::Generate, body);
    ASSERT_TRUE(fields.has_value());
    read.add_body(InferenceRoute::Generate, body, *fields);
    EXPECT_EQ(tokens(read), test.tokens) << test.policy;
    EXPECT_EQ(read.request().text, test.text) << test.policy;
  }
}

TEST_F(RoutingInputsTest, ReadsTheTextForWhoHashesOrMatchesIt) {
  EXPECT_EQ(inputs("cache_aware").request().text, "words");
}

TEST_F(RoutingInputsTest, ReadsTheTextBeneathSessions) {
  fleet_.routing_key_override = true;
  EXPECT_EQ(inputs("prefix_hash").request().text, "words");
}

TEST_F(RoutingInputsTest, PrefersTheHintToTheBody) {
  field("x-smg-routing-tokens", "7,8");
  auto& read = inputs("cache_aware", R"({"input_ids":[1],"text":"words"})");
  EXPECT_EQ(tokens(read), (Tokens{7, 8}));
  EXPECT_EQ(read.request().text, "");
}

TEST_F(RoutingInputsTest, IgnoresAHintWithADefect) {
  field("x-smg-routing-tokens", "7, 8");
  auto& read = inputs("cache_aware");
  EXPECT_TRUE(tokens(read).empty());
  EXPECT_EQ(read.request().text, "words");
}

TEST_F(RoutingInputsTest, LeavesHeadersWhenThePromptIsFreed) {
  field("x-smg-routing-key", "key");
  auto& read = inputs("prefix_hash");
  read.release_prompt();
  EXPECT_EQ(read.request().text, "");
  EXPECT_TRUE(tokens(read).empty());
  EXPECT_EQ(read.request().routing_key, "key");
}

}  // namespace
}  // namespace smg::relay
