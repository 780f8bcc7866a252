#include "relay/json_inspection.hpp"

#include <cmath>

namespace smg::relay::json {

namespace {

constexpr std::size_t kMaxStops = 4;

/// Whether a second reading of the field would contradict the first where the gateway acts on it.
bool must_be_unique(Meaning meaning) noexcept {
  return meaning == Meaning::Model || meaning == Meaning::Stream || meaning == Meaning::Rid;
}

bool is_empty_text(const JsonValue& value) noexcept {
  return value.shape == kString && value.inside().empty();
}

}  // namespace

bool BodyInspection::read(simdjson::ondemand::object& object) {
  fields_.empty_object = true;
  const auto visit = [this](JsonField& field) { return read_field(field); };
  if (!walk_.each_field(object, 1, visit)) return false;
  fields_.closing_brace = without_trailing_space(body_).size() - 1;
  check_missing();
  if (chat_) check_chat();
  return true;
}

bool BodyInspection::read_field(JsonField& field) {
  fields_.empty_object = false;
  const auto name = plain(field.key);
  for (const FieldRule& rule : rules_) {
    if (rule.name != name) continue;
    note_seen(rule);
    return read_value(rule, field.value);
  }
  return walk_.finish(field.value);
}

void BodyInspection::note_seen(const FieldRule& rule) {
  const std::uint32_t bit = 1U << (&rule - rules_.data());
  if ((seen_ & bit) != 0 && must_be_unique(rule.meaning)) data(rule.name, "duplicate field");
  seen_ |= bit;
}

bool BodyInspection::read_value(const FieldRule& rule, JsonValue& value) {
  if (rule.meaning == Meaning::DataParallelRank) return read_rank(value);
  if ((rule.shapes & value.shape) == 0) {
    data(rule.name, rule.expected);
    return walk_.finish(value);
  }
  if (value.shape == kNull) return true;
  switch (rule.meaning) {
    case Meaning::ChatMessages:
    case Meaning::Messages: return read_messages(rule, value);
    case Meaning::Prompt: return read_prompt(rule, value);
    case Meaning::Stop: return read_stop(rule, value);
    case Meaning::Tools: {
      std::size_t tools = 0;
      if (!count(value, tools)) return false;
      has_tools_ = tools != 0;
      return true;
    }
    case Meaning::ToolChoice: {
      forces_tool_ = true;
      if (value.shape != kString) return walk_.finish(value);
      const auto choice = plain(value.inside());
      forces_tool_ = choice != "auto" && choice != "none";
      return true;
    }
    case Meaning::StreamOptions: has_stream_options_ = true; return walk_.finish(value);
    case Meaning::Logprobs: has_logprobs_ = value.text == "true"; return true;
    case Meaning::TopLogprobs: has_top_logprobs_ = true; break;
    case Meaning::Stream: fields_.stream = value.text == "true"; return true;
    case Meaning::Model:
    case Meaning::Rid: read_identity(rule, value); return walk_.finish(value);
    case Meaning::TopK:
    case Meaning::Plain:
    case Meaning::DataParallelRank: break;
  }
  if (value.shape == kNumber) check_number(rule, value.text);
  return walk_.finish(value);
}

void BodyInspection::read_identity(const FieldRule& rule, const JsonValue& value) {
  if (value.shape != kString) return;
  if (rule.meaning == Meaning::Rid) {
    fields_.rid.emplace(plain(value.inside()));
    return;
  }
  fields_.model.emplace(plain(value.inside()));
  fields_.model_value = range_of(value.text);
  if (model_must_name_ && fields_.model->empty()) range(rule.name, "must not be empty");
}

void BodyInspection::check_number(const FieldRule& rule, std::string_view number) {
  const NumberRange& allowed = rule.range;
  if (!allowed.whole && allowed.text.empty()) return;
  const double value = number_value(number);
  if (allowed.whole && std::trunc(value) != value) return data(rule.name, rule.expected);
  if (!allowed.holds(value)) return range(rule.name, allowed.text);
  if (rule.meaning == Meaning::TopK && value != -1 && value < 1) {
    range(rule.name, "must be -1 or at least 1");
  }
}

bool BodyInspection::read_rank(JsonValue& value) {
  if (!walk_.finish(value)) return false;
  ByteRange where = range_of(value.text);
  if (value.shape == kArray || value.shape == kObject) {
    // The walk stands at the comma or brace behind the container.
    const char* behind = nullptr;
    if (value.cursor.current_location().get(behind)) return false;
    const auto end = static_cast<std::size_t>(behind - body_.data());
    where.length = without_trailing_space(body_.substr(where.offset, end - where.offset)).size();
  }
  fields_.rank_values.push_back(where);
  return true;
}

bool BodyInspection::read_messages(const FieldRule& rule, JsonValue& value) {
  bool empty = true;
  const auto visit = [&](JsonValue& message) {
    empty = false;
    return read_message(rule, message);
  };
  if (!walk_.each_element(value, visit)) return false;
  if (empty) range(rule.name, "must not be empty");
  return true;
}

bool BodyInspection::read_message(const FieldRule& rule, JsonValue& value) {
  if (value.shape != kObject) {
    data(rule.name, "expected an array of objects");
    return walk_.finish(value);
  }
  if (rule.meaning != Meaning::ChatMessages) return walk_.finish(value);
  bool from_user = false;
  bool empty = false;
  const auto visit = [&](JsonField& field) {
    const auto name = plain(field.key);
    if (name == "role") {
      from_user = field.value.shape == kString && plain(field.value.inside()) == "user";
    } else if (name == "content") {
      empty = is_empty_text(field.value);
      if (field.value.shape == kArray) {
        std::size_t parts = 0;
        if (!count(field.value, parts)) return false;
        empty = parts == 0;
        return true;
      }
    }
    return walk_.finish(field.value);
  };
  if (!walk_.each_field(value, visit)) return false;
  // Other roles may be silent: an assistant's turn can consist of tool calls.
  if (from_user && empty) range(rule.name, "a user's message must have content");
  return true;
}

bool BodyInspection::read_prompt(const FieldRule& rule, JsonValue& value) {
  if (value.shape == kString) return true;
  bool empty = true;
  const auto visit = [&](JsonValue& prompt) {
    empty = false;
    if (prompt.shape != kString) data(rule.name, rule.expected);
    return walk_.finish(prompt);
  };
  if (!walk_.each_element(value, visit)) return false;
  if (empty) range(rule.name, "must not be empty");
  return true;
}

bool BodyInspection::read_stop(const FieldRule& rule, JsonValue& value) {
  constexpr std::string_view kEmptyStop = "must not hold an empty string";
  if (value.shape == kString) {
    if (is_empty_text(value)) range(rule.name, kEmptyStop);
    return true;
  }
  std::size_t stops = 0;
  const auto visit = [&](JsonValue& stop) {
    ++stops;
    if (stop.shape != kString) data(rule.name, rule.expected);
    if (is_empty_text(stop)) range(rule.name, kEmptyStop);
    return walk_.finish(stop);
  };
  if (!walk_.each_element(value, visit)) return false;
  if (stops > kMaxStops) range(rule.name, "must hold at most 4 strings");
  return true;
}

bool BodyInspection::count(JsonValue& array, std::size_t& elements) {
  const auto visit = [&](JsonValue& element) {
    ++elements;
    return walk_.finish(element);
  };
  return walk_.each_element(array, visit);
}

void BodyInspection::check_missing() {
  for (std::size_t i = 0; i < rules_.size(); ++i) {
    if (rules_[i].required && (seen_ & 1U << i) == 0) data(rules_[i].name, "missing field");
  }
}

void BodyInspection::check_chat() {
  if (has_top_logprobs_ && !has_logprobs_) range("top_logprobs", "needs logprobs to be true");
  if (has_stream_options_ && !fields_.stream) range("stream_options", "needs stream to be true");
  if (forces_tool_ && !has_tools_) range("tool_choice", "needs tools");
}

/// `inside` without escapes, valid until the next call.
std::string_view BodyInspection::plain(std::string_view inside) {
  if (inside.find('\\') == std::string_view::npos) return inside;
  scratch_ = unescaped(inside);
  return scratch_;
}

ByteRange BodyInspection::range_of(std::string_view text) const noexcept {
  return {static_cast<std::size_t>(text.data() - body_.data()), text.size()};
}

void BodyInspection::data(std::string_view field, std::string_view text) {
  if (!data_) data_ = BodyProblem{field, text};
}

void BodyInspection::range(std::string_view field, std::string_view text) {
  if (!range_) range_ = BodyProblem{field, text};
}

}  // namespace smg::relay::json
