#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "unit/relay/inspect_text.hpp"

namespace smg::relay {
namespace {

using enum InferenceRoute;

constexpr InferenceRoute kAllRoutes[] = {Generate, ChatCompletions, Completions,
                                         Messages, Embeddings,      Classify,
                                         RerankV1, Rerank,          Responses};

/// What a route requires, as the start of an object to which fields can be added.
std::string required_fields(InferenceRoute route, std::string_view model = R"("model":"m")") {
  std::string text{"{"};
  text += model;
  switch (route) {
    case ChatCompletions: return text + R"(,"messages":[{"role":"user","content":"hi"}])";
    case Completions: return text + R"(,"prompt":"hi")";
    case Messages: return text + R"(,"max_tokens":5,"messages":[{"role":"user","content":"hi"}])";
    case Embeddings:
    case Classify: return text + R"(,"input":"hi")";
    default: return text;
  }
}

Result<BodyFields> inspect(InferenceRoute route, std::string body) {
  body.reserve(body.size() + kBodyPadding);
  return inspect_body(route, body);
}

Result<BodyFields> inspect_with(InferenceRoute route, std::string_view more) {
  return inspect(route, required_fields(route) + "," + std::string{more} + "}");
}

struct Verdict {
  InferenceRoute route;
  std::string_view more;   ///< fields added to the required ones
  std::string_view fault;  ///< of the message behind its prefix; empty: passes
};

// ---- what is read ------------------------------------------------------------------------------

TEST(RequestBody, ReadsModelStreamAndRid) {
  for (const auto route : kAllRoutes) {
    const auto result = inspect(route, required_fields(route) + R"(,"stream":true,"rid":"r-1"})");
    ASSERT_TRUE(result.has_value()) << facts(route).path << result.error().message;
    EXPECT_EQ(result->model, "m");
    EXPECT_TRUE(result->stream);
    EXPECT_EQ(result->rid, "r-1");
  }
}

TEST(RequestBody, UnescapesKeysAndValues) {
  std::string body =
      R"({"mod\u0065l":"a\/b\u00e9\ud83d\ude00\n\"","\u0073tream":true,"rid":"\u0000x"})";
  const auto result = inspect_body(Rerank, body);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->model, "a/b\xC3\xA9\xF0\x9F\x98\x80\n\"");
  EXPECT_TRUE(result->stream);
  EXPECT_EQ(result->rid, (std::string{'\0', 'x'}));
  ASSERT_TRUE(result->model_value);
  EXPECT_EQ(body.substr(result->model_value->offset, result->model_value->length),
            R"("a\/b\u00e9\ud83d\ude00\n\"")");
}

TEST(RequestBody, AbsentAndNullAreNothing) {
  for (const std::string_view text : {"{}", R"({"model":null,"stream":null,"rid":null})",
                                      R"({"stream":false,"rid":["a","b"]})"}) {
    for (const auto route : {Generate, RerankV1, Rerank, Responses}) {
      const auto result = inspect(route, std::string{text});
      ASSERT_TRUE(result.has_value()) << text << result.error().message;
      EXPECT_FALSE(result->model);
      EXPECT_FALSE(result->model_value);
      EXPECT_FALSE(result->stream);
      EXPECT_FALSE(result->rid);
    }
  }
}

TEST(RequestBody, ReadsOnlyTheTopLevel) {
  const auto result = inspect_with(
      ChatCompletions, R"("metadata":{"model":"x","stream":true,"rid":"r","data_parallel_rank":1},)"
                       R"("x":[{"model":1,"model":2}],"y":"\"model\":\"z\"")");
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->model, "m");
  EXPECT_FALSE(result->stream);
  EXPECT_FALSE(result->rid);
  EXPECT_TRUE(result->rank_values.empty());
}

TEST(RequestBody, KeysAreComparedWhole) {
  const auto result = inspect(Rerank, R"({"Model":1,"model ":2,"mode":3,"models":4,"":5})");
  ASSERT_TRUE(result.has_value());
  EXPECT_FALSE(result->model);
}

TEST(RequestBody, FindsEveryRank) {
  const std::string_view values[] = {"1",
                                     "-1.5e3",
                                     R"("a }")",
                                     "null",
                                     "true",
                                     "[]",
                                     "{}",
                                     R"([1, {"a": [ ] } ])",
                                     R"({"b":[{}]})"};
  std::string body = R"({"x":[1])";
  for (const auto value : values) {
    body += R"( , "data_parallel_rank" : )";
    body += value;
  }
  body += " \n} ";
  const auto result = inspect_body(Generate, body);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  ASSERT_EQ(result->rank_values.size(), std::size(values));
  for (std::size_t i = 0; i < std::size(values); ++i) {
    const auto [offset, length] = result->rank_values[i];
    EXPECT_EQ(body.substr(offset, length), values[i]);
  }
  EXPECT_EQ(body.substr(result->closing_brace), "} ");
}

TEST(RequestBody, KeepsTheBytesAndMakesRoomForPadding) {
  const std::string text = required_fields(Generate) + "}";
  for (const std::size_t spare : {std::size_t{0}, kBodyPadding}) {
    BodyBuffer body;
    body.append(text);
    body.reserve_behind(spare);
    const auto* const where = body.view().data();
    ASSERT_TRUE(inspect_body(Generate, body).has_value());
    EXPECT_EQ(body.view(), text);
    EXPECT_GE(body.capacity() - body.size(), kBodyPadding);
    if (spare != 0) EXPECT_EQ(body.view().data(), where);
  }
}

// ---- what is refused ---------------------------------------------------------------------------

TEST(RequestBody, MissingFieldIsNamed) {
  struct Case {
    InferenceRoute route;
    std::vector<std::string_view> fields;
    std::vector<std::string_view> texts;
  };
  const Case cases[] = {
      {ChatCompletions, {"model", "messages"}, {R"("model":"m")", R"("messages":[{}])"}},
      {Completions, {"model", "prompt"}, {R"("model":"m")", R"("prompt":"p")"}},
      {Messages,
       {"model", "messages", "max_tokens"},
       {R"("model":"m")", R"("messages":[{}])", R"("max_tokens":1)"}},
      {Embeddings, {"model", "input"}, {R"("model":"m")", R"("input":null)"}},
      {Classify, {"model", "input"}, {R"("model":"m")", R"("input":{"a":1})"}},
  };
  for (const auto& [route, fields, texts] : cases) {
    for (std::size_t left_out = 0; left_out <= fields.size(); ++left_out) {
      std::string body = R"({"x":1)";
      for (std::size_t i = 0; i < texts.size(); ++i) {
        if (i != left_out) body.append(",").append(texts[i]);
      }
      const auto result = inspect(route, body + "}");
      ASSERT_EQ(result.has_value(), left_out == fields.size()) << body;
      if (result.has_value()) continue;
      EXPECT_EQ(result.error().code, ErrorCode::JsonData);
      EXPECT_EQ(result.error().status(), facts(route).openai_errors ? 400 : 422);
      EXPECT_NE(result.error().message.find(std::string{fields[left_out]} + ": missing field"),
                std::string::npos)
          << result.error().message;
    }
  }
}

TEST(RequestBody, ADuplicateOfWhatIsReadIsRefused) {
  for (const auto route : kAllRoutes) {
    for (const std::string_view more :
         {R"("model":"m")", R"("mod\u0065l":"x")", R"("stream":true,"stream":true)",
          R"("stream":null,"strea\u006d":null)", R"("rid":"a","r\u0069d":"b")"}) {
      const auto result = inspect_with(route, more);
      ASSERT_FALSE(result.has_value()) << facts(route).path << more;
      EXPECT_EQ(result.error().code, ErrorCode::JsonData);
      EXPECT_NE(result.error().message.find("duplicate field"), std::string::npos);
    }
    EXPECT_TRUE(inspect_with(route, R"("x":1,"x":2,"temperature":1,"temperature":1)").has_value());
  }
}

TEST(RequestBody, WrongTypes) {
  const Verdict cases[] = {
      {ChatCompletions, R"("stream":"yes")", "stream: expected a boolean"},
      {ChatCompletions, R"("stream":1)", "stream: expected a boolean"},
      {ChatCompletions, R"("rid":5)", "rid: expected a string"},
      {ChatCompletions, R"("messages":{})", "messages: expected an array"},
      {ChatCompletions, R"("messages":null)", "messages: expected an array"},
      {ChatCompletions, R"("messages":["hi"])", "messages: expected an array of objects"},
      {ChatCompletions, R"("temperature":"1")", "temperature: expected a number"},
      {ChatCompletions, R"("temperature":[])", "temperature: expected a number"},
      {ChatCompletions, R"("n":1.5)", "n: expected an integer"},
      {ChatCompletions, R"("max_tokens":true)", "max_tokens: expected an integer"},
      {ChatCompletions, R"("top_k":0.5)", "top_k: expected an integer"},
      {ChatCompletions, R"("stop":5)", "stop: expected a string or strings"},
      {ChatCompletions, R"("stop":["a",5])", "stop: expected a string or strings"},
      {ChatCompletions, R"("logprobs":1)", "logprobs: expected a boolean"},
      {ChatCompletions, R"("tools":{})", "tools: expected an array"},
      {Completions, R"("prompt":5)", "prompt: expected a string or strings"},
      {Completions, R"("prompt":[1,2])", "prompt: expected a string or strings"},
      {Completions, R"("prompt":[[1]])", "prompt: expected a string or strings"},
      {Completions, R"("prompt":null)", "prompt: expected a string or strings"},
      {Messages, R"("max_tokens":"5")", "max_tokens: expected an integer"},
      {Messages, R"("max_tokens":null)", "max_tokens: expected an integer"},
      {Messages, R"("messages":"hi")", "messages: expected an array"},
      {Messages, R"("messages":[[]])", "messages: expected an array of objects"},
      {Embeddings, R"("dimensions":"x")", "dimensions: expected an integer"},
      {Embeddings, R"("dimensions":2.5)", "dimensions: expected an integer"},
      {Generate, R"("text":5)", "text: expected a string"},
      {Generate, R"("text":{})", "text: expected a string"},
      {Generate, R"("stream":"yes")", "stream: expected a boolean"},
      {Generate, R"("input_ids":"x")", "input_ids: expected an array"},
      {Generate, R"("sampling_params":5)", "sampling_params: expected an object"},
      {Generate, R"("rid":{})", "rid: expected a string"},
      {Responses, R"("stream":0)", "stream: expected a boolean"},
      {RerankV1, R"("stream":[])", "stream: expected a boolean"},
  };
  for (const auto& [route, more, fault] : cases) {
    const auto result = inspect_with(route, more);
    ASSERT_FALSE(result.has_value()) << more;
    EXPECT_EQ(result.error().code, ErrorCode::JsonData) << more;
    const bool openai = facts(route).openai_errors;
    const std::string prefix = openai
                                   ? "Invalid JSON data: "
                                   : "Failed to deserialize the JSON body into the target type: ";
    EXPECT_EQ(result.error().message, prefix + std::string{fault});
    EXPECT_EQ(result.error().status(), openai ? 400 : 422);
  }
}

TEST(RequestBody, ModelMustBeAString) {
  for (const auto route : kAllRoutes) {
    const bool optional =
        route == Generate || route == RerankV1 || route == Rerank || route == Responses;
    for (const std::string_view model : {"5", "[]", "{}", "true", "null"}) {
      const auto body = required_fields(route, R"("model":)" + std::string{model}) + "}";
      const auto result = inspect(route, body);
      EXPECT_EQ(result.has_value(), optional && model == "null") << facts(route).path << model;
      if (!result.has_value()) EXPECT_EQ(result.error().code, ErrorCode::JsonData);
    }
    const auto empty = inspect(route, required_fields(route, R"("model":"")") + "}");
    ASSERT_EQ(empty.has_value(), route != Messages) << facts(route).path;
    if (!empty.has_value()) {
      EXPECT_EQ(empty.error().code, ErrorCode::JsonRange);
      EXPECT_EQ(empty.error().message, "model: Validation error: must not be empty");
    }
  }
}

TEST(RequestBody, RangesOfAChat) {
  const Verdict cases[] = {
      {ChatCompletions, R"("temperature":0)", ""},
      {ChatCompletions, R"("temperature":2)", ""},
      {ChatCompletions, R"("temperature":-0)", ""},
      {ChatCompletions, R"("temperature":null)", ""},
      {ChatCompletions, R"("temperature":0.2e1)", ""},
      {ChatCompletions, R"("temperature":1e-999999)", ""},
      {ChatCompletions, R"("temperature":2.1)", "temperature"},
      {ChatCompletions, R"("temperature":2.0000000000000004)", "temperature"},
      {ChatCompletions, R"("temperature":-0.1)", "temperature"},
      {ChatCompletions, R"("temperature":1e999999)", "temperature"},
      {ChatCompletions, R"("top_p":1)", ""},
      {ChatCompletions, R"("top_p":0.0001)", ""},
      {ChatCompletions, R"("top_p":0)", "top_p"},
      {ChatCompletions, R"("top_p":1.1)", "top_p"},
      {ChatCompletions, R"("min_p":0)", ""},
      {ChatCompletions, R"("min_p":1.01)", "min_p"},
      {ChatCompletions, R"("frequency_penalty":-2)", ""},
      {ChatCompletions, R"("frequency_penalty":2.01)", "frequency_penalty"},
      {ChatCompletions, R"("presence_penalty":2)", ""},
      {ChatCompletions, R"("presence_penalty":-2.01)", "presence_penalty"},
      {ChatCompletions, R"("repetition_penalty":0)", ""},
      {ChatCompletions, R"("repetition_penalty":2.5)", "repetition_penalty"},
      {ChatCompletions, R"("n":1)", ""},
      {ChatCompletions, R"("n":10.0)", ""},
      {ChatCompletions, R"("n":0)", "n"},
      {ChatCompletions, R"("n":11)", "n"},
      {ChatCompletions, R"("n":-0)", "n"},
      {ChatCompletions, R"("max_tokens":1)", ""},
      {ChatCompletions, R"("max_tokens":4294967295)", ""},
      {ChatCompletions, R"("max_tokens":0)", "max_tokens"},
      {ChatCompletions, R"("max_tokens":-5)", "max_tokens"},
      {ChatCompletions, R"("top_k":-1)", ""},
      {ChatCompletions, R"("top_k":1)", ""},
      {ChatCompletions, R"("top_k":0)", "top_k"},
      {ChatCompletions, R"("top_k":-2)", "top_k"},
      {ChatCompletions, R"("logprobs":true,"top_logprobs":0)", ""},
      {ChatCompletions, R"("top_logprobs":20,"logprobs":true)", ""},
      {ChatCompletions, R"("top_logprobs":null)", ""},
      {ChatCompletions, R"("logprobs":true,"top_logprobs":21)", "top_logprobs"},
      {ChatCompletions, R"("top_logprobs":5)", "top_logprobs"},
      {ChatCompletions, R"("logprobs":false,"top_logprobs":5)", "top_logprobs"},
      {ChatCompletions, R"("stop":"a")", ""},
      {ChatCompletions, R"("stop":[])", ""},
      {ChatCompletions, R"("stop":["a","b","c","d"])", ""},
      {ChatCompletions, R"("stop":["a","b","c","d","e"])", "stop"},
      {ChatCompletions, R"("stop":"")", "stop"},
      {ChatCompletions, R"("stop":["a",""])", "stop"},
      {ChatCompletions, R"("stream_options":{"include_usage":true},"stream":true)", ""},
      {ChatCompletions, R"("stream_options":null)", ""},
      {ChatCompletions, R"("stream_options":{})", "stream_options"},
      {ChatCompletions, R"("stream_options":{},"stream":false)", "stream_options"},
      {ChatCompletions, R"("tool_choice":"auto")", ""},
      {ChatCompletions, R"("tool_choice":"n\u006fne")", ""},
      {ChatCompletions, R"("tool_choice":null)", ""},
      {ChatCompletions, R"("tool_choice":"required","tools":[{}])", ""},
      {ChatCompletions, R"("tools":[{"type":"function"}],"tool_choice":{"type":"function"})", ""},
      {ChatCompletions, R"("tool_choice":"required")", "tool_choice"},
      {ChatCompletions, R"("tool_choice":"required","tools":[])", "tool_choice"},
      {ChatCompletions, R"("tool_choice":{"type":"function"})", "tool_choice"},
  };
  for (const auto& [route, more, fault] : cases) {
    const auto result = inspect_with(route, more);
    ASSERT_EQ(result.has_value(), fault.empty()) << more;
    if (result.has_value()) continue;
    EXPECT_EQ(result.error().code, ErrorCode::JsonRange) << more;
    EXPECT_EQ(result.error().status(), 400);
    EXPECT_EQ(result.error().message.find(std::string{fault} + ": Validation error: "), 0U)
        << result.error().message;
  }
}

TEST(RequestBody, MessagesOfAChat) {
  struct Case {
    std::string_view messages;
    bool passes;
  };
  const Case cases[] = {
      {R"([])", false},
      {R"([{"role":"user","content":""}])", false},
      {R"([{"content":"","role":"us\u0065r"}])", false},
      {R"([{"role":"user","content":[]}])", false},
      {R"([{"role":"user","content":"a"},{"role":"user","content":[ ]}])", false},
      {R"([{"role":"user","content":[{"type":"text","text":""}]}])", true},
      {R"([{"role":"user","content":"\u0000"}])", true},
      {R"([{"role":"assistant","content":"","tool_calls":[{}]}])", true},
      {R"([{"role":"assistant","content":null}])", true},
      {R"([{"role":"system","content":""},{"role":"tool","content":[]}])", true},
      {R"([{"role":"user","content":"a","x":{"role":"user","content":""}}])", true},
      {R"([{}])", true},
  };
  for (const auto& [messages, passes] : cases) {
    const auto result =
        inspect(ChatCompletions, R"({"model":"m","messages":)" + std::string{messages} + "}");
    ASSERT_EQ(result.has_value(), passes) << messages;
    if (passes) continue;
    EXPECT_EQ(result.error().code, ErrorCode::JsonRange);
    EXPECT_EQ(result.error().message.find("messages: Validation error: "), 0U);
  }
}

TEST(RequestBody, RangesOfOtherRoutes) {
  const Verdict cases[] = {
      {Completions, R"("n":128,"logprobs":5,"temperature":2,"top_p":1)", ""},
      {Completions, R"("prompt":["a",""])", ""},
      {Completions, R"("prompt":"")", ""},
      {Completions, R"("prompt":[])", "prompt"},
      {Completions, R"("n":129)", "n"},
      {Completions, R"("n":0)", "n"},
      {Completions, R"("logprobs":6)", "logprobs"},
      {Completions, R"("logprobs":-1)", "logprobs"},
      {Completions, R"("temperature":3)", "temperature"},
      {Completions, R"("top_p":0.0)", "top_p"},
      {Messages, R"("max_tokens":1)", ""},
      {Messages, R"("max_tokens":0)", "max_tokens"},
      {Messages, R"("messages":[])", "messages"},
      {Messages, R"("messages":[{"role":"user","content":""}])", ""},
      {Messages, R"("temperature":7)", ""},
      {Embeddings, R"("temperature":7,"dimensions":-1)", ""},
      {Generate, R"("temperature":7,"n":0)", ""},
  };
  for (const auto& [route, more, fault] : cases) {
    const auto result = inspect_with(route, more);
    ASSERT_EQ(result.has_value(), fault.empty()) << more;
    if (result.has_value()) continue;
    EXPECT_EQ(result.error().code, ErrorCode::JsonRange) << more;
    EXPECT_EQ(result.error().message.find(std::string{fault} + ": Validation error: "), 0U);
  }
}

TEST(RequestBody, TheRestIsTheEnginesBusiness) {
  const Verdict cases[] = {
      {ChatCompletions, R"("seed":-0,"user":5,"response_format":"x","x_vendor":{"a":[1,null]})",
       ""},
      {ChatCompletions, R"("seed":123456789012345678901234567890,"priority":1e400)", ""},
      {Completions, R"("best_of":"x","suffix":1,"echo":0,"stop":["a","b","c","d","e"])", ""},
      {Messages, R"("system":[],"stop_sequences":5,"top_k":-9)", ""},
      {Embeddings, R"("encoding_format":5,"dimensions":null)", ""},
      {Embeddings, R"("dimensions":3.0)", ""},
      {Classify, R"("dimensions":"x","priority":"y")", ""},
      {Generate, R"("text":["a","b"],"sampling_params":[{},{}],"input_ids":[[1],[2]])", ""},
      {Generate, R"("text":null,"sampling_params":null,"input_ids":null,"rid":["a"])", ""},
      {Responses, R"("input":5,"messages":5,"temperature":"x")", ""},
      {RerankV1, R"("query":5,"documents":"x")", ""},
  };
  for (const auto& [route, more, fault] : cases) {
    EXPECT_TRUE(inspect_with(route, more).has_value()) << more;
  }
}

// ---- which error, in which words ---------------------------------------------------------------

TEST(RequestBody, ErrorsHaveTheWordsOfTheirRoute) {
  for (const auto route : kAllRoutes) {
    const bool openai = facts(route).openai_errors;
    const auto syntax = inspect(route, R"({"model": "m)");
    ASSERT_FALSE(syntax.has_value());
    EXPECT_EQ(syntax.error().status(), 400);
    EXPECT_EQ(syntax.error().message.find(openai ? "JSON syntax error: "
                                                 : "Failed to parse the request body as JSON: "),
              0U);
    const auto data = inspect(route, "[]");
    ASSERT_FALSE(data.has_value());
    EXPECT_EQ(data.error().status(), openai ? 400 : 422);
    EXPECT_EQ(
        data.error().message.find(openai ? "Invalid JSON data: "
                                         : "Failed to deserialize the JSON body into the target"),
        0U);
  }
}

TEST(RequestBody, SyntaxGoesBeforeTypesAndTypesBeforeRanges) {
  const std::string chat = required_fields(ChatCompletions) + R"(,"temperature":9)";
  EXPECT_EQ(inspect(ChatCompletions, chat + "}").error().code, ErrorCode::JsonRange);
  EXPECT_EQ(inspect(ChatCompletions, chat + R"(,"n":"x"})").error().code, ErrorCode::JsonData);
  EXPECT_EQ(inspect(ChatCompletions, chat + R"(,"n":"x",})").error().code, ErrorCode::JsonSyntax);
}

TEST(RequestBody, MessagesNeverQuoteTheBody) {
  for (const std::string_view body :
       {R"({"model":"SECRET","messages":"SECRET"})", R"({"model":["SECRET"]})",
        R"({"model":"m","messages":[{"role":"user","content":"SECRET\x"}]})",
        R"({"model":"m","messages":[SECRET]})", R"({"SECRET":)", R"({"model":"m","SECRET)",
        R"({"model":"m","messages":[{}],"stop":["SECRET","","","",""]})"}) {
    const auto result = inspect(ChatCompletions, std::string{body});
    ASSERT_FALSE(result.has_value()) << body;
    EXPECT_EQ(result.error().message.find("SECRET"), std::string::npos) << result.error().message;
  }
}

TEST(RequestBody, SyntaxErrorsSayWhere) {
  const auto result = inspect(Generate, R"({"text":"hi","n":01})");
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message,
            "Failed to parse the request body as JSON: unexpected text near byte 17");
}

}  // namespace
}  // namespace smg::relay
