#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include <simdjson.h>

#include "relay/json_rules.hpp"
#include "relay/json_text.hpp"

namespace smg::relay::json {

/// One value on the way through a document. A scalar has been checked and stepped over; a container
/// must still be walked by JsonWalk::each_element(), each_field() or finish().
struct JsonValue {
  simdjson::ondemand::value cursor;
  Shape shape = kInvalid;
  unsigned level = 0;     ///< of a container: 1 for the document itself
  std::string_view text;  ///< of a scalar: all of it; of a container: its opening bracket

  /// The inside of a string, escapes as they are written.
  [[nodiscard]] std::string_view inside() const noexcept { return text.substr(1, text.size() - 2); }
};

struct JsonField {
  std::string_view key;  ///< without its quotes, escapes as they are written
  JsonValue value;
};

/// A strict walk over a document that simdjson has indexed. On-Demand checks only what it is asked
/// for, so this asks for everything: each key, each scalar and each bracket is checked once, on the
/// client's bytes, and nothing is built from them. The functions return false at the first fault,
/// and the walk is over then.
class JsonWalk {
 public:
  explicit JsonWalk(unsigned max_levels) noexcept : max_levels_(max_levels) {}

  /// Whether the walk ended because of the nesting.
  [[nodiscard]] bool too_deep() const noexcept { return too_deep_; }

  /// Checks what is left of `value`: all that it contains, if it is a container.
  [[nodiscard]] bool finish(JsonValue& value);

  /// Calls `visit(JsonValue&) -> bool` for each element of an array.
  template <class Visit>
  [[nodiscard]] bool each_element(JsonValue& array, Visit&& visit);
  template <class Visit>
  [[nodiscard]] bool each_element(simdjson::ondemand::array& array, unsigned level, Visit&& visit);

  /// Calls `visit(JsonField&) -> bool` for each field of an object.
  template <class Visit>
  [[nodiscard]] bool each_field(JsonValue& object, Visit&& visit);
  template <class Visit>
  [[nodiscard]] bool each_field(simdjson::ondemand::object& object, unsigned level, Visit&& visit);

 private:
  [[nodiscard]] bool enter(unsigned level) noexcept {
    too_deep_ = level > max_levels_;
    return !too_deep_;
  }
  /// Fills in all but the cursor and the level; false if it is no value.
  [[nodiscard]] static bool open(JsonValue& value) noexcept;

  unsigned max_levels_;
  bool too_deep_ = false;
};

/// What a value that begins with `first` can only be.
[[nodiscard]] Shape shape_of(char first) noexcept;

/// Whether `text`, from one token's start to the next one's, is a valid scalar of this shape and
/// white space; `text` is cut to the scalar.
[[nodiscard]] bool is_scalar(Shape shape, std::string_view& text) noexcept;

/// The key that begins behind the quote at `key`, where `value` is the start of the field's value.
/// Only the quote, white space and the colon lie between the two, so this looks from behind.
[[nodiscard]] inline std::string_view key_before(const char* key, const char* value) noexcept {
  const char* end = value - 1;
  while (end > key && *end != '"') --end;
  return {key, static_cast<std::size_t>(end - key)};
}

template <class Visit>
bool JsonWalk::each_element(simdjson::ondemand::array& array, unsigned level, Visit&& visit) {
  if (!enter(level)) return false;
  JsonValue element;
  for (auto result : array) {
    element.level = level + 1;
    if (std::move(result).get(element.cursor) || !open(element) || !visit(element)) return false;
  }
  return true;
}

template <class Visit>
bool JsonWalk::each_element(JsonValue& array, Visit&& visit) {
  simdjson::ondemand::array elements;
  if (array.cursor.get_array().get(elements)) return false;
  return each_element(elements, array.level, visit);
}

template <class Visit>
bool JsonWalk::each_field(simdjson::ondemand::object& object, unsigned level, Visit&& visit) {
  if (!enter(level)) return false;
  JsonField field;
  for (auto result : object) {
    simdjson::ondemand::field next;
    if (std::move(result).get(next)) return false;
    field.value.level = level + 1;
    field.value.cursor = next.value();
    field.key = key_before(next.key().raw(), field.value.cursor.raw_json_token().data());
    if (!escapes_are_valid(field.key) || !open(field.value) || !visit(field)) return false;
  }
  return true;
}

template <class Visit>
bool JsonWalk::each_field(JsonValue& object, Visit&& visit) {
  simdjson::ondemand::object fields;
  if (object.cursor.get_object().get(fields)) return false;
  return each_field(fields, object.level, visit);
}

}  // namespace smg::relay::json
