#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "gateway/request_lifecycle.hpp"

namespace smg::gateway {
namespace {

const std::vector<std::string> kNames = config::Listen{}.request_id_headers;

std::string id_of(std::string_view path, http::Fields fields,
                  const std::vector<std::string>& names = kNames) {
  http::RequestHead head;
  head.path = path;
  head.fields = std::move(fields);
  return request_id_of(head, names).text;
}

TEST(RequestIdOf, TheFirstConfiguredFieldWins) {
  const struct {
    std::string_view name;
    http::Fields fields;
    std::string_view id;
  } cases[] = {
      {"one", {{"X-Request-Id", "a"}}, "a"},
      {"by configuration, not by line", {{"x-correlation-id", "b"}, {"x-request-id", "a"}}, "a"},
      {"second name", {{"x-correlation-id", "b"}}, "b"},
      {"third name", {{"X-Trace-ID", "c"}}, "c"},
      {"fourth name", {{"request-id", "d"}}, "d"},
      {"several lines", {{"x-request-id", "a"}, {"x-request-id", "b"}}, "a"},
      {"empty is none", {{"x-request-id", ""}, {"x-correlation-id", "b"}}, "b"},
      {"blanks within", {{"x-request-id", "a b"}}, "a b"},
      {"not printable", {{"x-request-id", "caf\xe9"}, {"x-correlation-id", "b"}}, "b"},
  };
  for (const auto& c : cases) EXPECT_EQ(id_of("/health", c.fields), c.id) << c.name;
}

TEST(RequestIdOf, ConfiguredNamesTakeTheDefaultsPlace) {
  EXPECT_EQ(id_of("/health", {{"x-request-id", "a"}, {"X-Mine", "b"}}, {"x-mine"}), "b");
  EXPECT_TRUE(id_of("/health", {{"x-request-id", "a"}}, {"x-mine"}).starts_with("req-"));
}

TEST(RequestIdOf, LongIdsAreCut) {
  EXPECT_EQ(id_of("/health", {{"x-request-id", std::string(5000, 'x')}}), std::string(256, 'x'));
}

TEST(RequestIdOf, GeneratedOnesHaveThePrefixOfTheirRoute) {
  const struct {
    std::string_view path;
    std::string_view prefix;
  } cases[] = {{"/v1/chat/completions", "chatcmpl-"},
               {"/v1/completions", "cmpl-"},
               {"/generate", "gnt-"},
               {"/v1/responses", "resp-"},
               {"/v1/messages", "msg_"},
               {"/v1/embeddings", "req-"},
               {"/v1/classify", "req-"},
               {"/v1/rerank", "req-"},
               {"/health", "req-"},
               {"/nope", "req-"}};
  for (const auto& c : cases) {
    const auto id = id_of(c.path, {});
    EXPECT_TRUE(id.starts_with(c.prefix)) << c.path << ": " << id;
    EXPECT_EQ(id.size(), c.prefix.size() + 24) << c.path << ": " << id;
    EXPECT_NE(id, id_of(c.path, {}));
  }
}

TEST(RequestIdOf, TellsWhoseItIs) {
  http::RequestHead head;
  head.path = "/generate";
  EXPECT_FALSE(request_id_of(head, kNames).from_client);
  head.fields = {{"x-request-id", "caf\xe9"}};
  EXPECT_FALSE(request_id_of(head, kNames).from_client);
  head.fields = {{"x-request-id", "a"}};
  EXPECT_TRUE(request_id_of(head, kNames).from_client);
}

TEST(RequestIdOf, AnUnacceptableIdIsReplaced) {
  const auto id = id_of("/generate", {{"x-request-id", "\x1b[0m"}});
  EXPECT_TRUE(id.starts_with("gnt-")) << id;
}

}  // namespace
}  // namespace smg::gateway
