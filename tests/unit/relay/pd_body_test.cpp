#include "relay/pd_body.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "relay/json_walk.hpp"
#include "unit/relay/body_text.hpp"
#include "unit/relay/inspect_text.hpp"

namespace smg::relay::pd {
namespace {

using Splices = std::vector<BodySplice>;

std::string apply(std::string_view body, Splices splices) {
  const EditedBody edited(body, std::move(splices));
  std::string joined;
  for (const auto piece : edited.pieces()) joined += piece;
  return joined;
}

/// The body as `edit` changes it.
template <class Edit>
std::string edited(InferenceRoute route, const std::string& text, Edit edit,
                   std::optional<std::string_view> model = {}) {
  const auto fields = inspect_body(route, text);
  if (!fields) return fields.error().message;
  BodyBuffer body = buffer_of(text);
  const auto pd = read_pd_body(route, body);
  if (!pd) return pd.error().message;
  return apply(body.view(), edit(PdSource{route, body.view(), *fields, *pd, model}));
}

std::string parallel(const std::string& text, InferenceRoute route = InferenceRoute::Generate,
                     const PdRanks& ranks = {}, bool is_decode = false) {
  return edited(route, text, [&](const PdSource& source) {
    std::vector<std::uint64_t> rooms(source.pd.batch.value_or(1));
    for (std::size_t i = 0; i < rooms.size(); ++i) rooms[i] = 7 + i;
    return parallel_body(source, {"[::1]", 9001, rooms}, ranks, is_decode);
  });
}

constexpr std::string_view kPlace =
    R"("bootstrap_host":"[::1]","bootstrap_port":9001,"bootstrap_room":7})";

TEST(ParallelBody, AppendsTheMeetingPlaceAndKeepsTheRest) {
  const struct {
    std::string body;
    std::string before;  ///< the meeting place
  } cases[] = {
      {R"({})", R"({)"},
      {R"({"text":"hi"})", R"({"text":"hi",)"},
      {R"({"temperature":0.50 , "zeta":1e3})", R"({"temperature":0.50 , "zeta":1e3,)"},
      {R"({"bootstrap_host":"evil"})", R"({)"},
      {R"({"bootstrap_host":"evil","text":"a"})", R"({"text":"a",)"},
      {R"({"bootstrap_host":[1,{"a":2}] , "bootstrap_room":3, "text":"a"})", R"({ "text":"a",)"},
      {R"({"text":"a" , "bootstrap_room":3})", R"({"text":"a" ,)"},
      {R"({"text":"a","bootstrap_room":3,"b":1})", R"({"text":"a","b":1,)"},
      {R"({"text":"a","bootstrap_room":3,"routed_dp_rank":4})", R"({"text":"a",)"},
      {R"({"bootstrap_room":1,"text":"a","bootstrap_room":2})", R"({"text":"a",)"},
      {R"({"boot\u0073trap_room":1,"text":"a"})", R"({"text":"a",)"},
      {R"({"kv_transfer_params":{"x":1},"text":"a"})", R"({"text":"a",)"},
  };
  for (const auto& c : cases) EXPECT_EQ(parallel(c.body), c.before + std::string(kPlace)) << c.body;
}

TEST(ParallelBody, ABatchHasOneOfEachForEverySequence) {
  using enum InferenceRoute;
  const struct {
    InferenceRoute route;
    std::string body;
    std::size_t sequences;  ///< 0: no batch
  } cases[] = {
      {ChatCompletions, R"({"model":"m","messages":[{"role":"user","content":"a"}],"n":3})", 3},
      {ChatCompletions, R"({"model":"m","messages":[{"role":"user","content":"a"}],"n":1})", 0},
      {Completions, R"({"model":"m","prompt":["a","b"]})", 2},
      {Completions, R"({"model":"m","prompt":["a"]})", 1},
      {Completions, R"({"model":"m","prompt":"a","n":4})", 0},
      {Generate, R"({"input_ids":[[1,2],[],[3]]})", 3},
      {Generate, R"({"input_ids":[1,2,3],"a":[[1]]})", 0},
      {Generate, R"({"text":["a","b"],"sampling_params":{"n":2}})", 2},
      {Generate, R"({"input_ids":null})", 0},
  };
  for (const auto& c : cases) {
    BodyBuffer body = buffer_of(c.body);
    const auto pd = read_pd_body(c.route, body);
    ASSERT_TRUE(pd) << c.body;
    EXPECT_EQ(pd->batch.value_or(0), c.sequences) << c.body;
    EXPECT_EQ(draw_rooms(*pd).size(), std::max<std::size_t>(c.sequences, 1));
  }
  const std::string two = parallel(R"({"text":["a","b"]})");
  EXPECT_TRUE(two.ends_with(R"(,"bootstrap_host":["[::1]","[::1]"],"bootstrap_port":[9001,9001],)"
                            R"("bootstrap_room":[7,8]})"))
      << two;
}

TEST(ParallelBody, ATooLargeBatchIsRefused) {
  std::string text = R"({"input_ids":[[])";
  for (std::size_t i = 0; i < kMostSequences; ++i) text += ",[]";
  BodyBuffer body = buffer_of(text + "]}");
  const auto pd = read_pd_body(InferenceRoute::Generate, body);
  ASSERT_FALSE(pd);
  EXPECT_EQ(pd.error().code, ErrorCode::JsonRange);
}

TEST(ParallelBody, RoomsAreOf63BitsAndDiffer) {
  PdBody pd;
  pd.batch = 1000;
  const auto rooms = draw_rooms(pd);
  std::set<std::uint64_t> different(rooms.begin(), rooms.end());
  EXPECT_EQ(different.size(), 1000U);
  EXPECT_LT(*different.rbegin(), std::uint64_t{1} << 63);
  EXPECT_GT(*different.rbegin(), std::uint64_t{1} << 60) << "all bits are used";
}

TEST(ParallelBody, RanksStandBehindTheMeetingPlace) {
  const std::string body = R"({"data_parallel_rank":9,"text":"a"})";
  const PdRanks ranks{1, 2};
  const std::string place(kPlace.substr(0, kPlace.size() - 1));
  EXPECT_EQ(parallel(body, InferenceRoute::Generate, ranks, false),
            R"({"text":"a",)" + place + R"(,"routed_dp_rank":1})");
  EXPECT_EQ(parallel(body, InferenceRoute::Generate, ranks, true),
            R"({"text":"a",)" + place + R"(,"disagg_prefill_dp_rank":1,"routed_dp_rank":2})");
  EXPECT_EQ(parallel(body), R"({"data_parallel_rank":9,"text":"a",)" + std::string(kPlace));
}

TEST(ParallelBody, WithoutAPortSaysNull) {
  const std::uint64_t room = 1;
  const auto text = edited(
      InferenceRoute::Generate, R"({"model":"nick"})",
      [&](const PdSource& source) {
        return parallel_body(source, {"h", std::nullopt, {&room, 1}}, {}, false);
      },
      "canonical");
  EXPECT_EQ(text, R"({"model":"canonical","bootstrap_host":"h","bootstrap_port":null,)"
                  R"("bootstrap_room":1})");
}

std::string prefill(InferenceRoute route, const std::string& text, std::string_view kv = {}) {
  return edited(route, text, [&](const PdSource& source) { return prefill_body(source, kv, {}); });
}

TEST(PrefillBody, AsksForOneTokenWithoutAStream) {
  using enum InferenceRoute;
  const std::string chat = R"({"model":"m","messages":[{"role":"user","content":"a"}])";
  const struct {
    InferenceRoute route;
    std::string body;
    std::string expected;
  } cases[] = {
      {ChatCompletions, chat + "}", chat + R"(,"max_tokens":1})"},
      {ChatCompletions, chat + R"(,"max_tokens":9})", chat + R"(,"max_tokens":1})"},
      {ChatCompletions, chat + R"(,"max_tokens":9,"max_completion_tokens":7})",
       chat + R"(,"max_completion_tokens":1})"},
      {ChatCompletions, chat + R"(,"stream":true,"stream_options":{"include_usage":true},"n":1})",
       chat + R"(,"stream":false,"n":1,"max_tokens":1})"},
      {ChatCompletions, R"({"min_tokens":3,)" + chat.substr(1) + "}", chat + R"(,"max_tokens":1})"},
      {Responses, R"({"model":"m","max_output_tokens":null})",
       R"({"model":"m","max_output_tokens":1})"},
      {Responses, R"({"input":"a"})", R"({"input":"a","max_output_tokens":1})"},
      {Completions, R"({"model":"m","prompt":"a","max_tokens":4})",
       R"({"model":"m","prompt":"a","max_tokens":1})"},
  };
  for (const auto& c : cases) EXPECT_EQ(prefill(c.route, c.body), c.expected) << c.body;
  EXPECT_EQ(prefill(Responses, R"({"kv_transfer_params":1})", R"({"a":1})"),
            R"({"max_output_tokens":1,"kv_transfer_params":{"a":1}})");
}

TEST(DecodeBody, IsTheClientsWithTheParameters) {
  const auto decode = [](const std::string& text, std::string_view kv) {
    return edited(InferenceRoute::Generate, text,
                  [&](const PdSource& source) { return decode_body(source, kv, {}); });
  };
  EXPECT_EQ(decode(R"({ "text":"a","min_tokens":3 })", ""), R"({ "text":"a","min_tokens":3 })");
  EXPECT_EQ(decode(R"({"text":"a","kv_transfer_params":{"theirs":1}})", R"({ "ours": 1 })"),
            R"({"text":"a","kv_transfer_params":{ "ours": 1 }})");
}

TEST(KvTransferParams, AreTakenFromTheTopOfAnAnswerAsTheyAreWritten) {
  const struct {
    std::string_view answer;
    std::string_view params;  ///< empty: none
  } cases[] = {
      {R"({"kv_transfer_params": { "a" : [ 1.50 ] } , "b":1})", R"({ "a" : [ 1.50 ] })"},
      {R"({"b":{"kv_transfer_params":{"a":1}}})", ""},
      {R"({"kv_transfer_params":null})", ""},
      {R"({"kv_transfer_params":{"a":1)", ""},
      {R"([1])", ""},
      {"", ""},
      {"no json", ""},
  };
  for (const auto& c : cases) {
    BodyBuffer answer = buffer_of(c.answer);
    EXPECT_EQ(find_kv_transfer_params(answer).value_or(""), c.params) << c.answer;
  }
}

}  // namespace
}  // namespace smg::relay::pd
