#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include <smg/control/control_result.hpp>

namespace smg::control {

/// Reads the fields of one JSON object into typed variables. The first field of a wrong type or out
/// of range is remembered as the error; what follows then reads nothing. A field that is missing or
/// null leaves its variable as it is.
class JsonFields {
 public:
  /// `where`: the object's path for messages, such as `health.`; empty for the document.
  JsonFields(simdjson::dom::object object, std::string where)
      : object_(object), where_(std::move(where)) {}

  [[nodiscard]] const std::optional<ControlError>& error() const noexcept { return error_; }

  void read(const char* name, std::string& out) {
    std::string_view text;
    if (const auto field = find(name); field && take(name, field->get(text), "a string"))
      out = text;
  }
  void read(const char* name, bool& out) {
    if (const auto field = find(name)) take(name, field->get(out), "true or false");
  }
  void read(const char* name, double& out) {
    double number = 0;
    const auto field = find(name);
    if (field && take(name, field->get(number), "a number") && std::isfinite(number)) out = number;
  }
  void read(const char* name, std::uint32_t& out) { read_integer(name, out); }
  void read(const char* name, std::uint16_t& out) { read_integer(name, out); }

  template <class T>
  void read(const char* name, std::optional<T>& out) {
    if (!find(name)) return;
    T content{};
    read(name, content);
    if (!error_) out = std::move(content);
  }

  void read(const char* name, std::vector<std::string>& out);
  void read(const char* name, std::vector<std::uint16_t>& out);
  void read(const char* name, std::map<std::string, std::string>& out);

  /// Calls `visit(JsonFields&)` for the object of this name, if there is one.
  template <class Visit>
  void object(const char* name, Visit&& visit) {
    const auto field = find(name);
    if (!field) return;
    simdjson::dom::object inner;
    if (take(name, field->get(inner), "an object")) enter(inner, std::string(name) + ".", visit);
  }

  /// The same for each object of an array.
  template <class Visit>
  void objects(const char* name, Visit&& visit) {
    for (const auto item : array(name)) {
      simdjson::dom::object inner;
      if (!take(name, item.get(inner), "an array of objects")) return;
      enter(inner, std::string(name) + "[].", visit);
    }
  }

  /// Remembers an error about a field that has been read.
  void refuse(ControlError error) {
    if (!error_) error_ = std::move(error);
  }
  void refuse_value(std::string_view name, std::string_view rule);

 private:
  [[nodiscard]] std::optional<simdjson::dom::element> find(const char* name) const;
  [[nodiscard]] std::vector<simdjson::dom::element> array(const char* name);
  bool take(std::string_view name, simdjson::error_code code, std::string_view wanted);

  template <class Visit>
  void enter(simdjson::dom::object inner, std::string name, Visit& visit) {
    JsonFields fields(inner, where_ + name);
    visit(fields);
    if (fields.error()) refuse(*fields.error());
  }

  [[nodiscard]] static bool is_fraction(const simdjson::dom::element& element) {
    return element.type() == simdjson::dom::element_type::DOUBLE;
  }

  template <class Integer>
  void read_integer(const char* name, Integer& out) {
    const auto field = find(name);
    if (!field) return;
    std::uint64_t number = 0;
    auto code = is_fraction(*field) ? simdjson::INCORRECT_TYPE : field->get(number);
    if (!code && number > std::numeric_limits<Integer>::max()) code = simdjson::NUMBER_OUT_OF_RANGE;
    if (take(name, code, "a whole number in range")) out = static_cast<Integer>(number);
  }

  simdjson::dom::object object_;
  std::string where_;
  std::optional<ControlError> error_;
};

}  // namespace smg::control
