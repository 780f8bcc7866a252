#include <algorithm>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include <simdjson.h>

#include "relay/json_parser.hpp"
#include "relay/json_walk.hpp"
#include <smg/relay/request_body.hpp>
#include <smg/relay/routing_text.hpp>

namespace smg::relay {
namespace {

using json::JsonField;
using json::JsonValue;
using json::kArray;
using json::kObject;
using json::kString;

/// No character takes more bytes in JSON, for each of its own, than one that is written `\u0041`.
constexpr std::size_t kMostEscaping = 6;

/// The sequence in an array of ids, or the first one in an array of sequences; empty if there is
/// anything else in it.
std::vector<std::uint32_t> read_tokens(simdjson::ondemand::array array) {
  std::vector<std::uint32_t> tokens;
  for (auto result : array) {
    simdjson::ondemand::value element;
    if (std::move(result).get(element)) return {};
    simdjson::ondemand::array sequence;
    if (tokens.empty() && !element.get_array().get(sequence)) return read_tokens(sequence);
    std::uint64_t id = 0;
    if (element.get_uint64().get(id) || id > std::numeric_limits<std::uint32_t>::max()) return {};
    tokens.push_back(static_cast<std::uint32_t>(id));
  }
  return tokens;
}

/// The type of a part whose `text` belongs to the prompt, whichever route calls it so.
bool is_text_part(std::string_view type) noexcept {
  return type == "text" || type == "input_text" || type == "output_text" ||
         type == "reasoning_text";
}

/// One walk over a valid body that collects its prompt. Since nothing can be wrong with the body,
/// all visits return true; what they do not walk is stepped over.
class PromptReader {
 public:
  PromptReader(InferenceRoute route, const routing::PromptUse& use) noexcept
      : route_(route), use_(use), walk_(kMaxBodyLevels) {}

  RoutingPrompt read(simdjson::ondemand::object& object) {
    const auto visit = [this](JsonField& field) { return read_field(field); };
    static_cast<void>(walk_.each_field(object, 1, visit));
    if (!prompt_.tokens.empty()) prompt_.text = {};
    if (is_full()) prompt_.text.resize(use_.text_bytes);
    return std::move(prompt_);
  }

 private:
  bool read_field(JsonField& field);
  bool read_tokens_field(JsonValue& value);
  bool read_strings(JsonValue& value);
  bool read_content(JsonValue& value);
  bool read_part(JsonValue& value);
  bool read_messages(JsonValue& value);
  bool read_message(JsonValue& value);
  bool read_system(JsonValue& value);
  bool read_input(JsonValue& value);
  bool read_item(JsonValue& value);

  bool add(std::string_view inside);
  [[nodiscard]] bool is_full() const noexcept { return prompt_.text.size() >= use_.text_bytes; }
  [[nodiscard]] bool says(const JsonValue& value, std::string_view expected);
  [[nodiscard]] std::string_view plain(std::string_view inside);

  const InferenceRoute route_;
  const routing::PromptUse use_;
  json::JsonWalk walk_;
  RoutingPrompt prompt_;
  std::string scratch_;  ///< the last unescaped name
};

bool PromptReader::read_field(JsonField& field) {
  const auto name = plain(field.key);
  JsonValue& value = field.value;
  switch (route_) {
    case InferenceRoute::Generate:
      if (name == "input_ids") return read_tokens_field(value);
      return name != "text" || read_strings(value);
    case InferenceRoute::ChatCompletions: return name != "messages" || read_messages(value);
    case InferenceRoute::Completions: return name != "prompt" || read_strings(value);
    case InferenceRoute::Messages:
      if (name == "system") return read_system(value);
      return name != "messages" || read_messages(value);
    case InferenceRoute::Embeddings:
    case InferenceRoute::Classify: return name != "input" || read_strings(value);
    case InferenceRoute::Responses: return name != "input" || read_input(value);
    case InferenceRoute::RerankV1:
    case InferenceRoute::Rerank: return name != "query" || read_strings(value);
  }
  return true;
}

bool PromptReader::read_tokens_field(JsonValue& value) {
  simdjson::ondemand::array array;
  if (use_.tokens && !value.cursor.get_array().get(array)) prompt_.tokens = read_tokens(array);
  return true;
}

/// A string, or the strings of an array.
bool PromptReader::read_strings(JsonValue& value) {
  if (value.shape == kString) return add(value.inside());
  if (value.shape != kArray || is_full()) return true;
  return walk_.each_element(value, [this](JsonValue& element) {
    return element.shape != kString || add(element.inside());
  });
}

/// A string, or the texts of an array of parts.
bool PromptReader::read_content(JsonValue& value) {
  if (value.shape == kString) return add(value.inside());
  if (value.shape != kArray || is_full()) return true;
  return walk_.each_element(value, [this](JsonValue& part) { return read_part(part); });
}

bool PromptReader::read_part(JsonValue& value) {
  if (value.shape != kObject || is_full()) return true;
  bool counts = false;
  std::string_view text;
  const auto visit = [&](JsonField& field) {
    if (field.value.shape != kString) return true;
    const auto name = plain(field.key);
    if (name == "text") {
      text = field.value.inside();
    } else if (name == "type") {
      counts = is_text_part(plain(field.value.inside()));
    }
    return true;
  };
  return walk_.each_field(value, visit) && (!counts || add(text));
}

bool PromptReader::read_messages(JsonValue& value) {
  if (value.shape != kArray) return true;
  return walk_.each_element(value, [this](JsonValue& message) { return read_message(message); });
}

/// The content, and behind it what an assistant thought, in whatever order the fields are.
bool PromptReader::read_message(JsonValue& value) {
  if (value.shape != kObject || is_full()) return true;
  bool of_assistant = false;
  std::string_view reasoning;
  const auto visit = [&](JsonField& field) {
    const auto name = plain(field.key);
    if (name == "content") return read_content(field.value);
    if (name == "role") {
      of_assistant = says(field.value, "assistant");
    } else if (name == "reasoning_content" && field.value.shape == kString) {
      reasoning = field.value.inside();
    }
    return true;
  };
  if (!walk_.each_field(value, visit)) return false;
  return route_ != InferenceRoute::ChatCompletions || !of_assistant || add(reasoning);
}

/// Comes before the messages, wherever it stands in the body.
bool PromptReader::read_system(JsonValue& value) {
  const std::string messages = std::exchange(prompt_.text, {});
  const bool read = read_content(value);
  if (!messages.empty() && !prompt_.text.empty()) prompt_.text += ' ';
  prompt_.text += messages;
  return read;
}

/// A string, or items: messages and thoughts, which count, and calls and others.
bool PromptReader::read_input(JsonValue& value) {
  if (value.shape == kString) return add(value.inside());
  if (value.shape != kArray) return true;
  return walk_.each_element(value, [this](JsonValue& item) { return read_item(item); });
}

bool PromptReader::read_item(JsonValue& value) {
  if (value.shape != kObject || is_full()) return true;
  const auto before = prompt_.text.size();
  bool counts = true;  // a message may leave its type out
  const auto visit = [&](JsonField& field) {
    const auto name = plain(field.key);
    if (name == "content") return read_content(field.value);
    if (name == "type") counts = says(field.value, "message") || says(field.value, "reasoning");
    return true;
  };
  const bool read = walk_.each_field(value, visit);
  if (!counts) prompt_.text.resize(before);
  return read;
}

bool PromptReader::add(std::string_view inside) {
  if (inside.empty() || is_full()) return true;
  if (use_.text_bytes < routing::PromptUse::kWhole / kMostEscaping) {
    inside = inside.substr(0, use_.text_bytes * kMostEscaping);
  }
  if (!prompt_.text.empty()) prompt_.text += ' ';
  json::append_unescaped(prompt_.text, inside);
  return true;
}

bool PromptReader::says(const JsonValue& value, std::string_view expected) {
  return value.shape == kString && plain(value.inside()) == expected;
}

/// `inside` without escapes, valid until the next call.
std::string_view PromptReader::plain(std::string_view inside) {
  if (inside.find('\\') == std::string_view::npos) return inside;
  scratch_ = json::unescaped(inside);
  return scratch_;
}

}  // namespace

RoutingPrompt read_prompt(InferenceRoute route, BodyBuffer& body, const routing::PromptUse& use) {
  if (use == routing::PromptUse{}) return {};
  body.reserve_behind(kBodyPadding);
  std::optional<simdjson::ondemand::parser> large;
  auto* const parser = json::parser_for(body.size(), large);
  if (parser == nullptr) return {};
  const simdjson::padded_string_view padded(body.view().data(), body.size(), body.capacity());
  simdjson::ondemand::document document;
  simdjson::ondemand::object object;
  if (parser->iterate(padded).get(document) || document.get_object().get(object)) return {};
  return PromptReader(route, use).read(object);
}

}  // namespace smg::relay
