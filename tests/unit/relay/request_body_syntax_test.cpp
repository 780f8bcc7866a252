#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "unit/relay/inspect_text.hpp"
#include "unit/relay/json_oracle.hpp"

namespace smg::relay {
namespace {

using test::JsonOracle;
using Verdict = JsonOracle::Verdict;

/// A route whose rules are the fewest, so that the syntax decides.
constexpr auto kRoute = InferenceRoute::Rerank;

Verdict judged(const Result<BodyFields>& result) {
  if (result.has_value()) return Verdict::Object;
  if (result.error().code == ErrorCode::JsonSyntax) return Verdict::Invalid;
  return result.error().message.find("the body must be an object") == std::string::npos
             ? Verdict::Object
             : Verdict::OtherValue;
}

/// The body with spare capacity that holds text which would complete a truncated document.
std::string with_tempting_padding(std::string_view text) {
  static constexpr std::string_view kTempting =
      R"("]}]}}}}}}":1,"a":[{}]}]}}]]]]]]]]]]}}}}}}}}}}}}}}}})";
  std::string body;
  body.reserve(text.size() + 2 * kBodyPadding);
  body = text;
  body += kTempting;
  body.resize(text.size());
  return body;
}

std::string nested(std::string_view open, std::string_view close, unsigned times,
                   std::string_view core) {
  std::string text;
  for (unsigned i = 0; i < times; ++i) text += open;
  text += core;
  for (unsigned i = 0; i < times; ++i) text += close;
  return text;
}

TEST(RequestBodySyntax, AcceptsEveryFormOfAnObject) {
  const std::string bodies[] = {
      "{}",
      " \t\r\n{ } \t\r\n",
      R"({"a":1})",
      R"({"":""})",
      R"({"a":[],"b":{},"c":[[]],"d":[{}],"e":{"f":[]}})",
      R"({"a":0,"b":-0,"c":-1,"d":10,"e":1.0,"f":1e5,"g":1E+5,"h":0.5e-10,"i":-0.0E0})",
      R"({"a":123456789012345678901234567890,"b":1e999999,"c":-1e-999999,"d":0.12345678901234567})",
      R"({"a":true,"b":false,"c":null})",
      R"({"a":"\"\\\/\b\f\n\r\t\u0000\u00e9\uD83D\uDE00\ud83d\ude00"})",
      R"({"a\u0041\n":1})",
      "{\"a\":\"\xC3\xA9 \xF0\x9F\x98\x80 \x7F\"}",
      R"({"a" : [ 1 , 2 , { "b" : "c" } ] , "d" : "e" })",
      R"({"a":"ends in a backslash\\"})",
      R"({"a":"}","b":"]","c":"[{,:","d":"\"}"})",
      R"({"a":1,"a":2})",
  };
  for (const auto& text : bodies) {
    auto body = with_tempting_padding(text);
    const auto result = inspect_body(kRoute, body);
    EXPECT_TRUE(result.has_value()) << text << ": " << result.error().message;
    EXPECT_EQ(body, text);
    EXPECT_EQ(JsonOracle::judge(text), Verdict::Object) << text;
  }
}

TEST(RequestBodySyntax, RefusesWhatIsNoJson) {
  using namespace std::string_view_literals;
  const std::string_view bodies[] = {
      "",
      " ",
      "\n\t ",
      "\0"sv,
      "{}\0"sv,
      "\0{}"sv,
      "\xEF\xBB\xBF{}",
      // around the object
      "{",
      "}",
      "{}}",
      "{{}}",
      "{}{}",
      "{} x",
      "{} {}",
      "{},",
      "x{}",
      "{}]",
      "[{}",
      "({})",
      "{}//",
      // fields
      R"({"a":1,})",
      R"({,"a":1})",
      R"({"a" 1})",
      R"({"a":1 "b":2})",
      R"({"a":1;"b":2})",
      R"({"a":1,,"b":2})",
      R"({"a"})",
      R"({"a":})",
      R"({"a":,"b":1})",
      R"({"a"::1})",
      R"({:1})",
      R"({1:1})",
      R"({a:1})",
      R"({null:1})",
      R"({'a':1})",
      R"({"a":1:2})",
      R"({"a":"b":1})",
      R"({"a":"b":"c"})",
      R"({"a":{"b":1})",
      R"({"a":{})",
      R"({"a":[1})",
      R"({"a":[)",
      R"({"a":[1,)",
      R"({"a":1)",
      R"({"a":)",
      R"({"a")",
      R"({"a)",
      R"({")",
      R"({"a":"b)",
      R"({"a":"b\"})",
      // elements
      R"({"a":[1,]})",
      R"({"a":[,1]})",
      R"({"a":[1 2]})",
      R"({"a":[1,,2]})",
      R"({"a":["b":1]})",
      R"({"a":["b":["c"]]})",
      R"({"a":[1:2]})",
      R"({"a":[}]})",
      R"({"a":[1}})",
      R"({"a":{]})",
      R"({"a":[]]})",
      R"({"a":[[]})",
      R"({"a":["b" "c"]})",
      R"({"a":["b""c"]})",
      R"({"a":[:]})",
      // numbers
      R"({"a":01})",
      R"({"a":-01})",
      R"({"a":1.})",
      R"({"a":-})",
      R"({"a":.5})",
      R"({"a":1e})",
      R"({"a":1e+})",
      R"({"a":1.e1})",
      R"({"a":+1})",
      R"({"a":--1})",
      R"({"a":0x10})",
      R"({"a":1_0})",
      R"({"a":NaN})",
      R"({"a":Infinity})",
      R"({"a":-Infinity})",
      R"({"a":1a})",
      R"({"a":1"b"})",
      R"({"a":1 2})",
      R"({"a":1.2.3})",
      R"({"a":1e1e1})",
      "{\"a\":1\0}"sv,
      "{\"a\":1\v}"sv,
      // words
      R"({"a":nul})",
      R"({"a":nulll})",
      R"({"a":True})",
      R"({"a":tru})",
      R"({"a":truefalse})",
      R"({"a":true false})",
      R"({"a":none})",
      R"({"a":undefined})",
      R"({"a":null"b"})",
      // strings
      R"({"a":"\x"})",
      R"({"a":"\u"})",
      R"({"a":"\u12"})",
      R"({"a":"\u12G4"})",
      R"({"a":"\U0041"})",
      R"({"a":"\ud800"})",
      R"({"a":"\ud800x"})",
      R"({"a":"\ud800\n"})",
      R"({"a":"\ud800\u0041"})",
      R"({"a":"\udc00"})",
      R"({"a":"\udc00\ud800"})",
      R"({"a":"\ud800\ud800"})",
      R"({"a":"\'"})",
      R"({"\x":1})",
      R"({"\ud800":1})",
      R"({"a":{"\x":1}})",
      R"({"a":[{"b":["\x"]}]})",
      R"({"a":"b"c})",
      R"({"a":"b"c"d"})",
      R"({"a":b"c"})",
      R"({"a":""b""})",
      "{\"a\":\"b\nc\"}"sv,
      "{\"a\":\"\t\"}"sv,
      "{\"a\":\"\0\"}"sv,
      "{\"a\n\":1}"sv,
      "{\"a\":\"\x1F\"}"sv,
      // UTF-8
      "{\"a\":\"\xFF\"}",
      "{\"a\":\"\xC3\"}",
      "{\"a\":\"\xC0\x80\"}",
      "{\"a\":\"\xED\xA0\x80\"}",
      "{\"a\":\"\xF4\x90\x80\x80\"}",
      "{\"a\":\"\xE2\x82\"}",
      "{\"\xFF\":1}",
      "{\"a\":1}\xFF",
      "{\"a\":\xC3\xA9}",
      "{\xC2\xA0}",
      // no object either
      "hello",
      "nul",
      "01",
      "-",
      "[1,]",
      "[",
      "]",
      "[1",
      "[1]]",
      "[] []",
      "\"",
      "\"a",
      "\"a\" \"b\"",
      "1 2",
      "true false",
      "\"\\x\"",
      "\"a\"b",
      ",",
      ":",
  };
  for (const auto text : bodies) {
    auto body = with_tempting_padding(text);
    const auto result = inspect_body(kRoute, body);
    ASSERT_FALSE(result.has_value()) << text;
    EXPECT_EQ(result.error().code, ErrorCode::JsonSyntax) << text << ": " << result.error().message;
    EXPECT_EQ(result.error().status(), 400) << text;
    EXPECT_EQ(JsonOracle::judge(text), Verdict::Invalid) << text;
  }
}

TEST(RequestBodySyntax, OtherDocumentsAreJsonOfTheWrongType) {
  for (const std::string_view text :
       {"[]", "[1,2]", " [ {\"a\":[1]} ] ", "[\"}\"]", "\"a\"", " \"\\u00e9\" ", "1", "-1.5e3",
        " 0 ", "true", "false", "null ", "1e999"}) {
    auto body = with_tempting_padding(text);
    const auto result = inspect_body(kRoute, body);
    ASSERT_FALSE(result.has_value()) << text;
    EXPECT_EQ(result.error().code, ErrorCode::JsonData) << text << ": " << result.error().message;
    EXPECT_EQ(JsonOracle::judge(text), Verdict::OtherValue) << text;
  }
}

TEST(RequestBodySyntax, NestingHasALimit) {
  struct Case {
    std::string open, close;
    unsigned per_round;
  };
  for (const auto& [open, close, per_round] :
       {Case{"[", "]", 1}, Case{R"({"a":)", "}", 1}, Case{R"([{"a":)", "}]", 2}}) {
    for (const unsigned levels : {126U, 128U, 1023U, 1024U, 1025U, 1027U, 20'000U}) {
      const unsigned inner = (levels - 1) / per_round;
      const std::string text = R"({"x":)" + nested(open, close, inner, "1") + "}";
      const bool fits = 1 + inner * per_round <= kMaxBodyLevels;
      auto body = with_tempting_padding(text);
      const auto result = inspect_body(kRoute, body);
      ASSERT_EQ(result.has_value(), fits) << open << levels;
      if (fits) continue;
      EXPECT_EQ(result.error().code, ErrorCode::JsonSyntax);
      EXPECT_NE(result.error().message.find("1024 levels"), std::string::npos);
    }
  }
  for (const unsigned levels : {1024U, 1025U}) {
    auto body = nested("[", "]", levels, "");
    EXPECT_EQ(judged(inspect_body(kRoute, body)),
              levels <= kMaxBodyLevels ? Verdict::OtherValue : Verdict::Invalid);
  }
}

TEST(RequestBodySyntax, DepthIsTheSameWhereFieldsAreRead) {
  // Inside a chat's messages and inside a replaced rank the walk takes other paths.
  for (const unsigned levels : {kMaxBodyLevels, kMaxBodyLevels + 1}) {
    const bool fits = levels == kMaxBodyLevels;
    std::string body = R"({"model":"m","messages":[{"role":"user","content":)" +
                       nested("[", "]", levels - 3, "1") + "}]}";
    EXPECT_EQ(inspect_body(InferenceRoute::ChatCompletions, body).has_value(), fits);
    body = R"({"data_parallel_rank":)" + nested("[", "]", levels - 1, "1") + "}";
    EXPECT_EQ(inspect_body(kRoute, body).has_value(), fits);
  }
}

TEST(RequestBodySyntax, FindsAFaultAtTheEndOfLargeBodies) {
  // Around the sizes at which the parser grows or is replaced by one of its own.
  for (const std::size_t size :
       {16'000U, 16'384U, 16'385U, 300'000U, 1'048'575U, 1'048'576U, 1'048'577U, 3'000'000U}) {
    std::string text = R"({"a":")" + std::string(size - 9, 'x') + R"(",)";
    std::string body = text + R"("b":1})";
    ASSERT_TRUE(inspect_body(kRoute, body).has_value()) << size;
    body = text + R"("b":01})";
    EXPECT_EQ(judged(inspect_body(kRoute, body)), Verdict::Invalid) << size;
    body = text + R"("b":")";
    EXPECT_EQ(judged(inspect_body(kRoute, body)), Verdict::Invalid) << size;
  }
}

TEST(RequestBodySyntax, LongStringsWithEscapesAreChecked) {
  std::string inside;
  for (int i = 0; i < 20'000; ++i) inside += R"(line\n\"quoted\" \\ \u00e9\ud83d\ude00 )";
  std::string body = R"({"a":")" + inside + R"("})";
  EXPECT_TRUE(inspect_body(kRoute, body).has_value());
  body = R"({"a":")" + inside + R"(\ud83d"})";
  EXPECT_EQ(judged(inspect_body(kRoute, body)), Verdict::Invalid);
}

TEST(RequestBodySyntax, ThreadsDoNotShareAParser) {
  std::vector<std::thread> threads;
  std::vector<int> accepted(4);
  for (auto& count : accepted) {
    threads.emplace_back([&count] {
      for (int i = 0; i < 500; ++i) {
        std::string body = R"({"model":"m","a":[1,2,{"b":"c"}]})";
        count += inspect_body(kRoute, body).has_value() ? 1 : 0;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  for (const int count : accepted) EXPECT_EQ(count, 500);
}

// ---- comparison with an independent validator
// -----------------------------------------------------

const std::vector<std::string>& valid_documents() {
  static const std::vector<std::string> documents{
      R"({})",
      R"({"model":"m","stream":true,"rid":"r","messages":[{"role":"user","content":"hi"}]})",
      R"( { "model" : "a\u0062c" , "x" : [ 1 , -2.5e+10 , null , true , false , "s" ] } )",
      R"({"data_parallel_rank":[1,{"a":2}] ,"model":"m","data_parallel_rank":{"b":[]} })",
      R"({"a":{"b":{"c":[[[{"d":"\ud83d\ude00\\\"\/"}]]]}},"e":[],"f":{},"g":0.001E-5})",
      ("{\"k\xC3\xA9y\":\"\xF0\x9F\x98\x80 "
       "\xE2\x82\xAC\",\"n\":[0,-0,1e5,1.5],\"t\":\"\\t\\n\\r\\b\\f\"}"),
      R"({"input_ids":[1,22,333,4444,55555],"long":")" + std::string(150, 'y') + R"(","z":null})",
      R"([{"a":"b"},[1,"2"],null])",
      R"("just a \u00e9 string")",
      R"(-12.5e-3)",
  };
  return documents;
}

/// Compares both verdicts; and an edited valid object must be a valid object again.
void compare(std::string_view text) {
  const auto expected = JsonOracle::judge(text);
  auto body = with_tempting_padding(text);
  const auto result = inspect_body(kRoute, body);
  ASSERT_EQ(judged(result), expected) << "document: " << text;
  ASSERT_EQ(body, text);
  if (!result.has_value()) return;
  const EditedBody edited{body, *result, {.model = "c\"anon", .data_parallel_rank = 7}};
  std::string joined;
  for (const auto piece : edited.pieces()) joined += piece;
  ASSERT_EQ(JsonOracle::judge(joined), Verdict::Object) << text << " became " << joined;
  ASSERT_EQ(joined.size(), edited.size());
}

TEST(RequestBodyFuzz, EveryTruncation) {
  for (const auto& document : valid_documents()) {
    for (std::size_t length = 0; length <= document.size(); ++length) {
      compare(std::string_view{document}.substr(0, length));
      compare(std::string_view{document}.substr(length));
    }
  }
}

TEST(RequestBodyFuzz, EveryByteReplacedInsertedAndRemoved) {
  static constexpr std::string_view kBytes{"\"\\{}[]:,0-.eEtnu \n\0\x1F\x7F\x80\xC3\xFF", 24};
  for (const auto& document : valid_documents()) {
    for (std::size_t at = 0; at < document.size(); ++at) {
      auto text = document;
      compare(text.erase(at, 1));
      for (const char byte : kBytes) {
        text = document;
        text[at] = byte;
        compare(text);
        text = document;
        compare(text.insert(at, 1, byte));
      }
    }
  }
}

TEST(RequestBodyFuzz, RandomMutations) {
  std::mt19937 random{20240611};
  const auto below = [&random](std::size_t n) { return random() % n; };
  static constexpr std::string_view kTokens[] = {
      "{",       "}",       "[",          "]",      ":",  ",",
      "\"",      "\\",      "\"a\"",      "\"a\":", "1",  "-",
      ".5",      "e9",      "null",       "true",   " ",  "\\u00e9",
      "\\ud83d", "\\ude00", "\"model\":", "[]",     "{}", "\"data_parallel_rank\":",
      "\xC3"};
  const auto& documents = valid_documents();
  for (int round = 0; round < 40'000; ++round) {
    auto text = documents[below(documents.size())];
    for (std::size_t edits = 1 + below(4); edits > 0; --edits) {
      const auto at = below(text.size() + 1);
      switch (below(5)) {
        case 0: text.insert(at, kTokens[below(std::size(kTokens))]); break;
        case 1: text.erase(at, 1 + below(4)); break;
        case 2: {  // a piece of another document
          const auto& other = documents[below(documents.size())];
          const auto from = below(other.size());
          text.insert(at, other.substr(from, below(20)));
          break;
        }
        case 3:
          if (at < text.size()) text[at] = static_cast<char>(random());
          break;
        default:
          if (at < text.size()) std::swap(text[at], text[below(text.size())]);
      }
    }
    compare(text);
    if (HasFatalFailure()) return;
  }
}

TEST(RequestBodyFuzz, RandomTokens) {
  std::mt19937 random{77};
  static constexpr std::string_view kTokens[] = {"{", "}",     "[", "]", ":",
                                                 ",", "\"a\"", "1", " ", "x"};
  for (int round = 0; round < 60'000; ++round) {
    std::string text;
    for (std::size_t n = 1 + random() % 9; n > 0; --n)
      text += kTokens[random() % std::size(kTokens)];
    compare(text);
    compare("{\"a\":" + text + "}");
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace smg::relay
