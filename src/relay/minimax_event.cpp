#include "relay/minimax_event.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <utility>

#include <simdjson.h>

#include "relay/json_text.hpp"
#include "relay/json_walk.hpp"

namespace smg::relay::minimax {
namespace {

using simdjson::ondemand::document;
using simdjson::ondemand::parser;

/// Containers within containers that an event may have.
constexpr unsigned kMaxLevels = 128;
/// simdjson's own count of levels is one ahead inside an array.
constexpr std::size_t kParserDepth = kMaxLevels + 2;

/// Events up to this size share the thread's parser, which takes several times its capacity.
constexpr std::size_t kKeptCapacity = 64 * 1024;

/// The parser of this thread or `large`; null if there is no memory.
parser* parser_for(std::size_t size, std::optional<parser>& large) {
  static thread_local parser kept{kKeptCapacity};
  if (size > kKeptCapacity) {
    large.emplace();
    return large->allocate(size, kParserDepth) == simdjson::SUCCESS ? &*large : nullptr;
  }
  if (kept.capacity() != 0) return &kept;
  return kept.allocate(kKeptCapacity, kParserDepth) == simdjson::SUCCESS ? &kept : nullptr;
}

/// `key` without escapes; `storage` keeps it if it has some.
std::string_view plain(std::string_view key, std::string& storage) {
  if (key.find('\\') == std::string_view::npos) return key;
  storage = json::unescaped(key);
  return storage;
}

MemberPart part_of(std::string_view name) noexcept {
  if (name == "choices") return MemberPart::Choices;
  if (name == "usage") return MemberPart::Usage;
  if (name == "error") return MemberPart::Error;
  constexpr std::string_view kStandard[] = {
      "id", "object", "created", "model", "system_fingerprint", "service_tier"};
  const bool standard = std::ranges::find(kStandard, name) != std::end(kStandard);
  return standard ? MemberPart::Standard : MemberPart::Other;
}

bool is_container(const json::JsonValue& value) noexcept {
  return value.shape == json::kObject || value.shape == json::kArray;
}

/// Whether `value` is an integer that is not 0, of any size.
bool is_other_integer(const json::JsonValue& value) noexcept {
  return value.shape == json::kNumber &&
         value.text.find_first_of(".eE") == std::string_view::npos && value.text != "0" &&
         value.text != "-0";
}

}  // namespace

/// Walks one document and fills in an event. The functions return false at a fault of the syntax.
/// Of repeated members that are interpreted, the last counts.
class EventReader {
 public:
  EventReader(ChatEvent& event, document& document) noexcept
      : event_(event), document_(document), walk_(kMaxLevels) {}

  [[nodiscard]] bool read();

 private:
  using JsonField = json::JsonField;
  using JsonValue = json::JsonValue;

  [[nodiscard]] bool read_member(JsonField& field);
  [[nodiscard]] bool read_choices(JsonValue& value);
  [[nodiscard]] bool read_choice(JsonValue& value);
  [[nodiscard]] bool read_choice_field(JsonField& field);
  [[nodiscard]] bool read_delta(JsonValue& value);
  [[nodiscard]] bool read_delta_field(JsonField& field);
  [[nodiscard]] bool read_calls(JsonValue& value);
  [[nodiscard]] bool read_call(JsonValue& value);
  [[nodiscard]] bool read_call_field(ToolCall& call, JsonField& field);
  [[nodiscard]] bool read_function_field(ToolCall& call, JsonField& field);
  [[nodiscard]] bool keep_whole(JsonValue& value) {
    event_.whole_ = true;
    return walk_.finish(value);
  }

  /// Steps over `value`, which becomes the text from its first to its last byte.
  [[nodiscard]] bool step_over(JsonValue& value, std::string_view& text);
  [[nodiscard]] bool step_over(JsonField& field, std::vector<Member>& into, MemberPart part);

  ChatEvent& event_;
  document& document_;
  json::JsonWalk walk_;
};

bool EventReader::read() {
  simdjson::ondemand::object object;
  std::string_view first;
  if (document_.raw_json_token().get(first) || first.empty() || first.front() != '{') return false;
  if (document_.get_object().get(object)) return false;
  const auto visit = [this](JsonField& field) { return read_member(field); };
  if (!walk_.each_field(object, 1, visit)) return false;
  const char* surplus = nullptr;
  return document_.current_location().get(surplus) != simdjson::SUCCESS;
}

bool EventReader::step_over(JsonValue& value, std::string_view& text) {
  text = value.text;
  if (!is_container(value)) return true;
  const char* next = nullptr;
  if (!walk_.finish(value) || document_.current_location().get(next)) return false;
  const char* const start = text.data();
  text = json::without_trailing_space({start, static_cast<std::size_t>(next - start)});
  return true;
}

bool EventReader::step_over(JsonField& field, std::vector<Member>& into, MemberPart part) {
  Member& member = into.emplace_back(Member{field.key, {}, part});
  return step_over(field.value, member.value);
}

bool EventReader::read_member(JsonField& field) {
  std::string storage;
  const auto part = part_of(plain(field.key, storage));
  if (part == MemberPart::Choices) {
    event_.members_.push_back({field.key, {}, part});
    return read_choices(field.value);
  }
  if (!step_over(field, event_.members_, part)) return false;
  const bool present = field.value.shape != json::kNull;
  if (part == MemberPart::Usage) event_.has_usage_ = present;
  if (part == MemberPart::Error) event_.has_error_ = present;
  return true;
}

bool EventReader::read_choices(JsonValue& value) {
  event_.elements_ = 0;
  event_.has_choice_ = false;
  if (value.shape != json::kArray) return walk_.finish(value);
  return walk_.each_element(value, [this](JsonValue& element) {
    ++event_.elements_;
    return element.shape == json::kObject ? read_choice(element) : walk_.finish(element);
  });
}

bool EventReader::read_choice(JsonValue& value) {
  event_.has_choice_ = true;
  event_.choice_.clear();
  return walk_.each_field(value, [this](JsonField& field) { return read_choice_field(field); });
}

bool EventReader::read_choice_field(JsonField& field) {
  std::string storage;
  const auto name = plain(field.key, storage);
  if (name == "delta") {
    event_.choice_.push_back({field.key, {}, MemberPart::Delta});
    return read_delta(field.value);
  }
  const bool present = field.value.shape != json::kNull;
  if (name == "finish_reason") {
    event_.finishes_ = present;
    return step_over(field, event_.choice_, MemberPart::FinishReason);
  }
  if (name == "index") {
    if (is_other_integer(field.value)) event_.other_index_ = true;
  } else if (present) {
    event_.whole_ = true;
  }
  return step_over(field, event_.choice_, MemberPart::Other);
}

bool EventReader::read_delta(JsonValue& value) {
  event_.has_delta_ = value.shape == json::kObject;
  if (!event_.has_delta_) return walk_.finish(value);
  return walk_.each_field(value, [this](JsonField& field) { return read_delta_field(field); });
}

bool EventReader::read_delta_field(JsonField& field) {
  std::string storage;
  const auto name = plain(field.key, storage);
  if (name == "tool_calls") return read_calls(field.value);
  if (field.value.shape == json::kNull) return true;
  if (name == "role") return step_over(field.value, event_.role_);
  if (field.value.shape == json::kString) {
    for (std::size_t i = 0; i < event_.texts_.size(); ++i) {
      if (name != name_of(static_cast<TextField>(i))) continue;
      event_.texts_[i] = field.value.inside();
      return true;
    }
  }
  return step_over(field, event_.extras_, MemberPart::Other);
}

bool EventReader::read_calls(JsonValue& value) {
  event_.calls_.clear();
  if (value.shape == json::kNull) return true;
  if (value.shape != json::kArray) return keep_whole(value);
  return walk_.each_element(value, [this](JsonValue& element) { return read_call(element); });
}

bool EventReader::read_call(JsonValue& value) {
  if (value.shape != json::kObject) return keep_whole(value);
  ToolCall& call = event_.calls_.emplace_back();
  return walk_.each_field(value,
                          [this, &call](JsonField& field) { return read_call_field(call, field); });
}

bool EventReader::read_call_field(ToolCall& call, JsonField& field) {
  std::string storage;
  const auto name = plain(field.key, storage);
  if (field.value.shape == json::kNull) return true;
  if (name == "index") {
    if (is_container(field.value)) return keep_whole(field.value);
    call.index = field.value.text;
    return true;
  }
  if (name == "function") {
    if (field.value.shape != json::kObject) return keep_whole(field.value);
    call.has_function = true;
    return walk_.each_field(
        field.value, [this, &call](JsonField& inner) { return read_function_field(call, inner); });
  }
  if (name == "id") call.starts = true;
  if (name != "type") call.has_other = true;
  return step_over(field, call.members, MemberPart::Other);
}

bool EventReader::read_function_field(ToolCall& call, JsonField& field) {
  std::string storage;
  const auto name = plain(field.key, storage);
  if (field.value.shape == json::kNull) return true;
  if (name == "arguments") {
    if (field.value.shape != json::kString) return keep_whole(field.value);
    call.arguments = field.value.inside();
    return true;
  }
  if (name == "name") call.starts = true;
  call.has_other = true;
  return step_over(field, call.function, MemberPart::Other);
}

EventKind ChatEvent::read(std::string_view payload, std::size_t readable) {
  clear();
  std::optional<parser> large;
  parser* const parser = parser_for(payload.size(), large);
  document document;
  if (parser == nullptr ||
      parser->iterate(payload.data(), payload.size(), readable).get(document)) {
    return EventKind::Malformed;
  }
  return EventReader{*this, document}.read() ? kind() : EventKind::Malformed;
}

void ChatEvent::clear() {
  members_.clear();
  choice_.clear();
  extras_.clear();
  calls_.clear();
  texts_ = {};
  role_ = {};
  elements_ = 0;
  has_choice_ = has_delta_ = other_index_ = whole_ = false;
  finishes_ = has_usage_ = has_error_ = false;
}

EventKind ChatEvent::kind() const noexcept {
  if (elements_ > 1 || other_index_) return EventKind::SeveralChoices;
  if (!has_choice_) return EventKind::NoChoice;
  return whole_ || !has_delta_ ? EventKind::Whole : EventKind::Mergeable;
}

bool ChatEvent::starts_call() const noexcept {
  return std::ranges::any_of(calls_, &ToolCall::starts);
}

bool ChatEvent::has_extras() const noexcept {
  return !extras_.empty() || std::ranges::any_of(calls_, &ToolCall::has_other);
}

}  // namespace smg::relay::minimax
