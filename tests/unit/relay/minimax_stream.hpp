#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <simdjson.h>

#include <smg/base/text.hpp>
#include <smg/relay/minimax_reslicer.hpp>

/// Chat streams to feed to a re-slicer, and a reading of what leaves it.
namespace smg::relay::test {

inline constexpr std::string_view kHead =
    R"("id":"c1","object":"chat.completion.chunk","created":1,"model":"m")";
inline const std::string kDone = "data: [DONE]\n\n";
inline const std::string kMark = ": mark\n\n";

inline std::string data_frame(std::string_view json) {
  return "data: " + std::string{json} + "\n\n";
}

/// An event whose choice has this delta; `top` begins with a comma.
inline std::string event(std::string_view delta, std::string_view finish_reason = "null",
                         std::string_view top = "") {
  std::string json = "{" + std::string{kHead} + R"(,"choices":[{"index":0,"delta":)";
  json += delta;
  json += R"(,"finish_reason":)";
  json += finish_reason;
  json += "}]";
  json += top;
  json += '}';
  return data_frame(json);
}

inline std::string field(std::string_view name, std::string_view text) {
  return event("{" + text::json_quoted(name) + ":" + text::json_quoted(text) + "}");
}

inline std::string content(std::string_view text) {
  return field("content", text);
}

/// A piece of the arguments of a tool call.
inline std::string arguments(std::string_view index, std::string_view text) {
  return event(R"({"tool_calls":[{"index":)" + std::string{index} + R"(,"function":{"arguments":)" +
               text::json_quoted(text) + "}}]}");
}

/// What a re-slicer synthesizes for a slice; `inner` is the inside of its delta.
inline std::string slice(std::string_view inner, std::string_view head = kHead) {
  return "data: {" + std::string{head} + (head.empty() ? "" : ",") +
         R"("choices":[{"index":0,"delta":{)" + std::string{inner} +
         "},\"finish_reason\":null}]}\n\n";
}

inline std::string content_slice(std::string_view text) {
  return slice(R"("content":)" + text::json_quoted(text));
}

/// All that is due now, taken `most` bytes at a time.
inline std::string drained(MinimaxReslicer& reslicer,
                           std::size_t most = MinimaxReslicer::kOutputBytes) {
  std::string out;
  while (reslicer.produce(out, most)) {
  }
  return out;
}

inline std::string fed(MinimaxReslicer& reslicer, std::string_view bytes) {
  reslicer.feed(bytes);
  return drained(reslicer);
}

inline std::string finished(MinimaxReslicer& reslicer) {
  reslicer.finish();
  return drained(reslicer);
}

/// The whole output for a stream that arrives in pieces of `piece` bytes.
inline std::string resliced(std::string_view wire, std::size_t piece = std::string_view::npos) {
  MinimaxReslicer reslicer;
  std::string out;
  while (!wire.empty()) {
    out += fed(reslicer, wire.substr(0, piece));
    wire.remove_prefix(std::min(piece, wire.size()));
  }
  return out + finished(reslicer);
}

/// A text of a delta: its field, and for arguments `arguments[INDEX]`.
using Text = std::pair<std::string, std::string>;
using Texts = std::vector<Text>;

inline std::size_t characters(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

inline void collect(simdjson::dom::object delta, Texts& into) {
  for (const std::string_view name : {"reasoning_content", "reasoning", "content"}) {
    std::string_view text;
    if (!delta[name].get(text) && !text.empty()) into.emplace_back(name, text);
  }
  simdjson::dom::array calls;
  if (delta["tool_calls"].get(calls)) return;
  for (auto call : calls) {
    std::string_view text;
    std::int64_t index = -1;
    if (call["function"]["arguments"].get(text) || text.empty()) continue;
    const bool none = call["index"].get(index) != simdjson::SUCCESS;
    into.emplace_back("arguments[" + (none ? "" : std::to_string(index)) + "]", text);
  }
}

/// The texts of all deltas, in order. Data that is no JSON has none.
inline Texts texts(std::string_view body) {
  Texts all;
  simdjson::dom::parser parser;
  while (!body.empty()) {
    const auto end = std::min(body.find_first_of("\r\n"), body.size() - 1);
    auto line = body.substr(0, end);
    body.remove_prefix(end + 1);
    if (!line.starts_with("data: {")) continue;
    line.remove_prefix(6);
    simdjson::dom::array choices;
    if (parser.parse(line.data(), line.size())["choices"].get(choices)) continue;
    for (auto choice : choices) {
      simdjson::dom::object delta;
      if (!choice["delta"].get(delta)) collect(delta, all);
    }
  }
  return all;
}

inline std::vector<std::size_t> lengths(std::string_view body) {
  std::vector<std::size_t> all;
  for (const auto& [name, text] : texts(body)) all.push_back(characters(text));
  return all;
}

}  // namespace smg::relay::test
