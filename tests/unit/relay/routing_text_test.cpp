#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "unit/relay/body_text.hpp"
#include <smg/relay/request_body.hpp>
#include <smg/relay/routing_text.hpp>

namespace smg::relay {
namespace {

using enum InferenceRoute;
using Tokens = std::vector<std::uint32_t>;

constexpr routing::PromptUse kAll{.tokens = true, .text_bytes = routing::PromptUse::kWhole};

RoutingPrompt prompt_of(InferenceRoute route, const std::string& json,
                        const routing::PromptUse& use = kAll) {
  BodyBuffer body = buffer_of(json);
  auto prompt = read_prompt(route, body, use);
  EXPECT_EQ(body.view(), json);
  return prompt;
}

struct TextCase {
  InferenceRoute route;
  std::string json;
  std::string text;
};

void expect_texts(std::span<const TextCase> cases) {
  for (const auto& test : cases) {
    const auto prompt = prompt_of(test.route, test.json);
    EXPECT_EQ(prompt.text, test.text) << test.json;
    EXPECT_TRUE(prompt.tokens.empty()) << test.json;
  }
}

TEST(RoutingText, OfPlainFields) {
  const TextCase kCases[] = {
      {Completions, R"({"model":"m","prompt":"once upon"})", "once upon"},
      {Completions, R"({"prompt":["once","","upon"],"suffix":"x"})", "once upon"},
      {Generate, R"({"text":"native"})", "native"},
      {Generate, R"({"text":["a","b"]})", "a b"},
      {Generate, R"({"text":null})", ""},
      {Generate, R"({})", ""},
      {Embeddings, R"({"input":"one"})", "one"},
      {Embeddings, R"({"input":[1,2,3]})", ""},
      {Embeddings, R"({"input":[[1],["x"]]})", ""},
      {Embeddings, R"({"input":{"text":"x"}})", ""},
      {Classify, R"({"input":["two","texts"]})", "two texts"},
      {RerankV1, R"({"documents":["a"],"query":"which"})", "which"},
      {Rerank, R"({"query":"which","documents":["query"]})", "which"},
      {Rerank, R"({"query":7})", ""},
      {Completions, R"({"metadata":{"prompt":"inner"},"prompt":"outer"})", "outer"},
      {Completions, R"({"\u0070rompt":"escaped name"})", "escaped name"},
      {Completions, R"({"prompt":"a\n\"b\" \u00e9\ud83d\ude00"})", "a\n\"b\" é😀"},
      {Completions, R"({"prompt":["\u0000",""]})", std::string(1, '\0')},
  };
  expect_texts(kCases);
}

TEST(RoutingText, OfChats) {
  const TextCase kCases[] = {
      {ChatCompletions, R"({"messages":[{"role":"system","content":"be brief"},
        {"role":"user","content":[{"type":"text","text":"what is"},{"text":"this","type":"text"}]}]})",
       "be brief what is this"},
      {ChatCompletions,
       R"({"messages":[{"role":"user","content":""},{"role":"user","content":"x"}]})", "x"},
      {ChatCompletions,
       R"({"messages":[{"role":"assistant","content":"answer","reasoning_content":"because"},
        {"role":"user","content":"more"}]})",
       "answer because more"},
      {ChatCompletions,
       R"({"messages":[{"reasoning_content":"because","content":"answer","role":"assistant"}]})",
       "answer because"},
      {ChatCompletions,
       R"({"messages":[{"role":"user","content":"ask","reasoning_content":"not mine"}]})", "ask"},
      {ChatCompletions,
       R"({"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c","function":
        {"name":"f","arguments":"{\"content\":1}"}}]},{"role":"tool","content":"result"}]})",
       "result"},
      {ChatCompletions,
       R"({"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"u"},
        "text":"alt"},{"type":"text","text":"seen"},"loose",{"text":"untyped"}]}]})",
       "seen"},
      {ChatCompletions, R"({"tools":[{"content":"x"}],"messages":[{"role":"user","name":"content",
        "content":"only"}],"system":"no"})",
       "only"},
  };
  expect_texts(kCases);
}

TEST(RoutingText, OfMessagesBeginsWithTheSystem) {
  const TextCase kCases[] = {
      {Messages, R"({"system":"rules","messages":[{"role":"user","content":"hello"}]})",
       "rules hello"},
      {Messages, R"({"messages":[{"role":"user","content":"hello"}],"system":"rules"})",
       "rules hello"},
      {Messages, R"({"messages":[{"role":"user","content":"hello"}],"system":""})", "hello"},
      {Messages,
       R"({"system":[{"type":"text","text":"be"},{"type":"text","text":"kind"}],"messages":[
        {"role":"user","content":[{"type":"text","text":"hello"},{"type":"image","source":{}}]},
        {"role":"assistant","content":"yes","reasoning_content":"x"}]})",
       "be kind hello yes"},
  };
  expect_texts(kCases);
}

TEST(RoutingText, OfResponses) {
  const TextCase kCases[] = {
      {Responses, R"({"input":"plain"})", "plain"},
      {Responses,
       R"({"input":[{"role":"user","content":"short"},
        {"type":"message","role":"user","content":[{"type":"input_text","text":"long"},
         {"type":"input_image","image_url":"u"}]},
        {"type":"message","content":[{"type":"output_text","text":"said"}]},
        {"type":"reasoning","content":[{"type":"reasoning_text","text":"thought"}]}]})",
       "short long said thought"},
      {Responses,
       R"({"input":[{"content":"of no message","type":"custom"},{"type":"function_call_output",
        "output":"o"},{"content":"kept","type":"message"}]})",
       "kept"},
      {Responses, R"({"input":[]})", ""},
  };
  expect_texts(kCases);
}

TEST(RoutingText, TokensTakeThePlaceOfTheText) {
  const struct {
    std::string json;
    Tokens tokens;
    std::string text;
  } kCases[] = {
      {R"({"input_ids":[5,6,7]})", {5, 6, 7}, ""},
      {R"({"text":"t","input_ids":[ 5 , 4294967295 ],"stream":false})", {5, 4294967295}, ""},
      {R"({"input_ids":[[11,12],[13]],"text":"t"})", {11, 12}, ""},
      {R"({"input_ids":[],"text":"t"})", {}, "t"},
      {R"({"input_ids":[[],[1]],"text":"t"})", {}, "t"},
      {R"({"input_ids":null,"text":"t"})", {}, "t"},
      {R"({"input_ids":[1,4294967296],"text":"t"})", {}, "t"},
      {R"({"input_ids":[1,-1],"text":"t"})", {}, "t"},
      {R"({"input_ids":[1,2.5],"text":"t"})", {}, "t"},
      {R"({"input_ids":[1,[2]],"text":"t"})", {}, "t"},
      {R"({"input_ids":["1"],"text":"t"})", {}, "t"},
  };
  for (const auto& test : kCases) {
    const auto prompt = prompt_of(Generate, test.json);
    EXPECT_EQ(prompt.tokens, test.tokens) << test.json;
    EXPECT_EQ(prompt.text, test.text) << test.json;
  }
}

TEST(RoutingText, ReadsIdsOfGenerateOnly) {
  EXPECT_TRUE(prompt_of(ChatCompletions, R"({"input_ids":[1],"messages":[]})").tokens.empty());
}

TEST(RoutingText, KeepsWhatIsUsed) {
  const std::string ids = R"({"text":"some text","input_ids":[1,2]})";
  EXPECT_EQ(prompt_of(Generate, ids, {.tokens = true}).tokens, (Tokens{1, 2}));
  EXPECT_EQ(prompt_of(Generate, ids, {.text_bytes = 4}).text, "some");
  EXPECT_EQ(prompt_of(Generate, R"({"text":"some text"})", {.tokens = true}).text, "");
  EXPECT_TRUE(prompt_of(Generate, ids, {}).tokens.empty());
  const std::string escapes = R"({"text":"\u0061\u0062\u0063\u0064\u0065"})";
  EXPECT_EQ(prompt_of(Generate, escapes, {.text_bytes = 4}).text, "abcd");
  const std::string messages =
      R"({"messages":[{"role":"user","content":"12345678"},{"role":"user","content":"9"}],
         "system":"rules"})";
  EXPECT_EQ(prompt_of(Messages, messages, {.text_bytes = 8}).text, "rules 12");
  EXPECT_EQ(prompt_of(Messages, messages, {.text_bytes = 16}).text, "rules 12345678 9");
}

TEST(RoutingText, ReadsBodiesOfAnySize) {
  const std::string text(3'000'000, 'x');
  const auto prompt = prompt_of(Completions, R"({"prompt":")" + text + R"("})");
  EXPECT_TRUE(prompt.text == text);
}

}  // namespace
}  // namespace smg::relay
