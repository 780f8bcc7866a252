#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <string>
#include <string_view>
#include <utility>

#include <smg/base/text.hpp>

namespace smg::control {

/// Writes one JSON document in the order of the calls, which must be properly nested; it places the
/// commas.
class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }

  JsonWriter& key(std::string_view name) {
    separate();
    quote(name);
    out_ += ':';
    needs_comma_ = false;
    return *this;
  }

  JsonWriter& value(std::string_view text) {
    separate();
    quote(text);
    return *this;
  }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(std::same_as<bool> auto flag) { return raw(flag ? "true" : "false"); }
  JsonWriter& value(std::integral auto number)
    requires(!std::same_as<decltype(number), bool>)
  {
    return convert(number);
  }
  /// Shortest form that reads back the same, with a fraction at least of ".0"; null if not finite.
  JsonWriter& value(std::floating_point auto number) {
    if (!std::isfinite(number)) return null();
    const std::size_t start = out_.size();
    convert(number);
    if (out_.find_first_of(".e", start) == std::string::npos) out_ += ".0";
    return *this;
  }
  JsonWriter& null() { return raw("null"); }

  /// A value that is JSON already.
  JsonWriter& raw(std::string_view json) {
    separate();
    out_ += json;
    return *this;
  }

  template <class T>
  JsonWriter& field(std::string_view name, const T& content) {
    return key(name).value(content);
  }

  /// An array of strings, or of whatever `value` takes.
  template <class Range>
  JsonWriter& list(std::string_view name, const Range& items) {
    key(name).begin_array();
    for (const auto& item : items) value(item);
    return end_array();
  }

  [[nodiscard]] std::string take() { return std::move(out_); }

 private:
  void separate() {
    if (needs_comma_) out_ += ',';
    needs_comma_ = true;
  }
  JsonWriter& open(char bracket) {
    separate();
    out_ += bracket;
    needs_comma_ = false;
    return *this;
  }
  JsonWriter& close(char bracket) {
    out_ += bracket;
    needs_comma_ = true;
    return *this;
  }
  void quote(std::string_view text) {
    out_ += '"';
    text::append_json_escaped(out_, text);
    out_ += '"';
  }
  JsonWriter& convert(auto number) {
    separate();
    char digits[32];
    out_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
    return *this;
  }

  std::string out_;
  bool needs_comma_ = false;
};

}  // namespace smg::control
