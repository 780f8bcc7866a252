#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "unit/relay/inspect_text.hpp"

namespace smg::relay {
namespace {

std::string edit(std::string body, const BodyEdits& edits) {
  const auto fields = inspect_body(InferenceRoute::Generate, body);
  if (!fields.has_value()) return fields.error().message;
  const EditedBody edited{body, *fields, edits};
  std::string joined;
  for (const auto piece : edited.pieces()) {
    EXPECT_FALSE(piece.empty());
    joined += piece;
  }
  EXPECT_EQ(edited.size(), joined.size());
  return joined;
}

TEST(EditedBody, ReplacesTheModelAndTheRankOnly) {
  struct Case {
    std::string_view body;
    BodyEdits edits;
    std::string_view expected;
  };
  const BodyEdits model{.model = "canon", .data_parallel_rank = {}};
  const BodyEdits rank{.model = {}, .data_parallel_rank = 3};
  const BodyEdits both{.model = "canon", .data_parallel_rank = 4294967295U};
  const Case cases[] = {
      {R"({"model":"m"})", {}, R"({"model":"m"})"},
      {R"( { "model" : "m" , "t" : 0.950 } )", {}, R"( { "model" : "m" , "t" : 0.950 } )"},
      {R"( { "model" : "m" , "t" : 0.950 } )", model, R"( { "model" : "canon" , "t" : 0.950 } )"},
      {R"({"mod\u0065l":"\u006d","x":"m"})", model, R"({"mod\u0065l":"canon","x":"m"})"},
      {R"({"a":{"model":"m"},"model":"m"})", model, R"({"a":{"model":"m"},"model":"canon"})"},
      {R"({"text":"hi"})", model, R"({"text":"hi"})"},
      {R"({"model":null})", model, R"({"model":null})"},
      {R"({"model":""})", model, R"({"model":"canon"})"},
      {R"({})", rank, R"({"data_parallel_rank":3})"},
      {"{ \n} ", rank, "{ \n\"data_parallel_rank\":3} "},
      {R"({"a":1})", rank, R"({"a":1,"data_parallel_rank":3})"},
      {R"({"a":{} } )", rank, R"({"a":{} ,"data_parallel_rank":3} )"},
      {R"({"a":{"data_parallel_rank":7}})", rank,
       R"({"a":{"data_parallel_rank":7},"data_parallel_rank":3})"},
      {R"({"data_parallel_rank":7})", rank, R"({"data_parallel_rank":3})"},
      {R"({"data_parallel_rank" : "}" , "a":1})", rank, R"({"data_parallel_rank" : 3 , "a":1})"},
      {R"({"data_parallel_\u0072ank":null})", rank, R"({"data_parallel_\u0072ank":3})"},
      {R"({"data_parallel_rank":[1,{"b":2}] ,"a":1,"data_parallel_rank":{"c":[]} })", rank,
       R"({"data_parallel_rank":3 ,"a":1,"data_parallel_rank":3 })"},
      {R"({"model":"m","n":1e5})", both,
       R"({"model":"canon","n":1e5,"data_parallel_rank":4294967295})"},
      {R"({"data_parallel_rank":0,"model":"m"})", both,
       R"({"data_parallel_rank":4294967295,"model":"canon"})"},
      {R"({"model":"m","data_parallel_rank":0,"z":[]})", both,
       R"({"model":"canon","data_parallel_rank":4294967295,"z":[]})"},
  };
  for (const auto& [body, edits, expected] : cases) {
    EXPECT_EQ(edit(std::string{body}, edits), expected);
  }
}

TEST(EditedBody, TheModelIsQuotedAsJson) {
  EXPECT_EQ(edit(R"({"model":"m"})", {.model = "a\"b\\c\n\x01/\xC3\xA9", .data_parallel_rank = {}}),
            "{\"model\":\"a\\\"b\\\\c\\n\\u0001/\xC3\xA9\"}");
}

TEST(EditedBody, ViewsIntoTheBodyInsteadOfCopyingIt) {
  std::string body = R"({"model":"m","text":")" + std::string(100'000, 'x') + R"("})";
  const auto fields = inspect_body(InferenceRoute::Generate, body);
  ASSERT_TRUE(fields.has_value());
  const EditedBody edited{body, *fields, {.model = "canon", .data_parallel_rank = 1}};
  ASSERT_EQ(edited.pieces().size(), 5U);
  EXPECT_EQ(edited.pieces()[0].data(), body.data());
  EXPECT_EQ(edited.pieces()[2].data(), body.data() + fields->model_value->offset + 3);
  EXPECT_EQ(edited.pieces()[4], "}");
}

}  // namespace
}  // namespace smg::relay
