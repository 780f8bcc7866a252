#include "relay/prompt_logprobs.hpp"

#include <gtest/gtest.h>

#include "unit/relay/body_text.hpp"

namespace smg::relay::pd {
namespace {

std::string merged(std::string_view prefill_text, std::string_view decode_text) {
  BodyBuffer prefill = buffer_of(prefill_text);
  BodyBuffer decode = buffer_of(decode_text);
  const auto theirs = PromptLogprobs::of(prefill);
  const auto own = PromptLogprobs::of(decode);
  const EditedBody body(decode.view(), own.merge_with(theirs, prefill.view()));
  std::string joined;
  for (const auto piece : body.pieces()) joined += piece;
  return joined;
}

TEST(PromptLogprobs, ThoseOfPrefillComeFirst) {
  const std::string_view one = R"({"meta_info":{"input_token_logprobs":[[-1.50,1,null]]}})";
  const std::string_view none = R"({"meta_info":{"input_token_logprobs":[ ]}})";
  const struct {
    std::string_view prefill;
    std::string_view decode;
    std::string_view expected;
  } cases[] = {
      {one, R"({"text":"a","meta_info":{"id":"x","input_token_logprobs": [[-2,2]] }})",
       R"({"text":"a","meta_info":{"id":"x","input_token_logprobs": [[-1.50,1,null],[-2,2]] }})"},
      {one, none, R"({"meta_info":{"input_token_logprobs":[[-1.50,1,null] ]}})"},
      {none, one, one},
      {R"([{"meta_info":{"input_token_logprobs":[1]}},{"meta_info":{"input_token_logprobs":[2]}}])",
       R"([{"meta_info":{"input_token_logprobs":[3]}},{"meta_info":{"input_token_logprobs":[4]}}])",
       R"([{"meta_info":{"input_token_logprobs":[1,3]}},{"meta_info":{"input_token_logprobs":[2,4]}}])"},
  };
  for (const auto& c : cases) EXPECT_EQ(merged(c.prefill, c.decode), c.expected);
}

TEST(PromptLogprobs, WhatDoesNotFitStaysAsItIs) {
  const std::string_view one = R"({"meta_info":{"input_token_logprobs":[1]}})";
  for (const std::string_view other :
       {R"({"choices":[]})", R"({"meta_info":{"input_token_logprobs":null}})", "data: x", "", "[]",
        R"([{"meta_info":{"input_token_logprobs":[1]}},{"meta_info":{}}])",
        R"({"input_token_logprobs":[1]})", R"({"meta_info":{"input_token_logprobs":[1)"}) {
    EXPECT_EQ(merged(one, other), other);
    EXPECT_EQ(merged(other, one), one);
  }
}

std::string streamed(std::string_view stream, std::size_t piece) {
  BodyBuffer prefill = buffer_of(R"({"meta_info":{"input_token_logprobs":[1]}})");
  const auto theirs = PromptLogprobs::of(prefill);
  LogprobStream merging(theirs, prefill.view());
  std::string out;
  std::string event;
  for (std::size_t i = 0; i < stream.size(); i += piece) {
    merging.feed(stream.substr(i, piece));
    while (merging.next(event)) out += event;
  }
  return out + std::string(merging.rest());
}

TEST(LogprobStream, MergesIntoEveryEventHoweverItArrives) {
  const std::string_view stream =
      "data: {\"meta_info\":{\"input_token_logprobs\":[2]}}\n\n"
      ": comment\n\n"
      "data:{\"meta_info\":{\"input_token_logprobs\":[]}}\r\n\r\n"
      "event: x\ndata: {\"meta_info\":{\"input_token_logprobs\":[5]}}\n\n"
      "data: {\"text\":\"a\"}\n\ndata: [DONE]\n\ndata: {\"cut";
  const std::string_view expected =
      "data: {\"meta_info\":{\"input_token_logprobs\":[1,2]}}\n\n"
      ": comment\n\n"
      "data:{\"meta_info\":{\"input_token_logprobs\":[1]}}\r\n\r\n"
      "event: x\ndata: {\"meta_info\":{\"input_token_logprobs\":[5]}}\n\n"
      "data: {\"text\":\"a\"}\n\ndata: [DONE]\n\ndata: {\"cut";
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    EXPECT_EQ(streamed(stream, piece), expected) << piece;
  }
}

TEST(LogprobStream, AnEndlessEventEndsTheMerging) {
  const std::string endless = "data: " + std::string(LogprobStream::kMostFrameBytes + 1, 'x');
  const std::string after = "\n\ndata: {\"meta_info\":{\"input_token_logprobs\":[2]}}\n\n";
  EXPECT_EQ(streamed(endless + after, 65536), endless + after);
}

}  // namespace
}  // namespace smg::relay::pd
