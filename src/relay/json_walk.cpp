#include "relay/json_walk.hpp"

namespace smg::relay::json {

Shape shape_of(char first) noexcept {
  switch (first) {
    case '{': return kObject;
    case '[': return kArray;
    case '"': return kString;
    case 't':
    case 'f': return kBool;
    case 'n': return kNull;
    case '-': return kNumber;
    default: return first >= '0' && first <= '9' ? kNumber : kInvalid;
  }
}

bool is_scalar(Shape shape, std::string_view& text) noexcept {
  text = without_trailing_space(text);
  if (shape == kString) {
    // The index guarantees that the string ends here and has no unescaped quote or control before.
    return text.size() >= 2 && text.back() == '"' &&
           escapes_are_valid(text.substr(1, text.size() - 2));
  }
  return shape == kNumber ? is_number(text) : is_literal(text);
}

bool JsonWalk::open(JsonValue& value) noexcept {
  value.text = value.cursor.raw_json_token();
  if (value.text.empty()) return false;
  value.shape = shape_of(value.text.front());
  if (value.shape == kInvalid) return false;
  if (value.shape == kObject || value.shape == kArray) {
    value.text = value.text.substr(0, 1);
    return true;
  }
  if (!is_scalar(value.shape, value.text)) return false;
  // On-Demand would take a string before a colon for a key when it steps over it by itself.
  return value.shape != kString || !value.cursor.get_raw_json_string().error();
}

bool JsonWalk::finish(JsonValue& value) {
  if (value.shape == kArray) {
    return each_element(value, [this](JsonValue& element) { return finish(element); });
  }
  if (value.shape == kObject) {
    return each_field(value, [this](JsonField& field) { return finish(field.value); });
  }
  return true;
}

}  // namespace smg::relay::json
