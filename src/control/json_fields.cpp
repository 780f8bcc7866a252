#include "control/json_fields.hpp"

namespace smg::control {

std::optional<simdjson::dom::element> JsonFields::find(const char* name) const {
  simdjson::dom::element element;
  if (error_ || object_.at_key(name).get(element) || element.is_null()) return std::nullopt;
  return element;
}

std::vector<simdjson::dom::element> JsonFields::array(const char* name) {
  simdjson::dom::array items;
  const auto field = find(name);
  if (!field || !take(name, field->get(items), "an array")) return {};
  return {items.begin(), items.end()};
}

bool JsonFields::take(std::string_view name, simdjson::error_code code, std::string_view wanted) {
  if (!code) return true;
  refuse({422, "UNPROCESSABLE_ENTITY",
          "Field '" + where_ + std::string(name) + "' must be " + std::string(wanted)});
  return false;
}

void JsonFields::refuse_value(std::string_view name, std::string_view rule) {
  refuse(bad_request("Invalid value for field '" + where_ + std::string(name) +
                     "': " + std::string(rule)));
}

void JsonFields::read(const char* name, std::vector<std::string>& out) {
  if (!find(name)) return;
  out.clear();
  for (const auto item : array(name)) {
    std::string_view text;
    if (!take(name, item.get(text), "an array of strings")) return;
    out.emplace_back(text);
  }
}

void JsonFields::read(const char* name, std::vector<std::uint16_t>& out) {
  if (!find(name)) return;
  out.clear();
  for (const auto item : array(name)) {
    std::uint64_t number = 0;
    auto code = is_fraction(item) ? simdjson::INCORRECT_TYPE : item.get(number);
    if (!code && (number < 100 || number > 999)) code = simdjson::NUMBER_OUT_OF_RANGE;
    if (!take(name, code, "an array of status codes")) return;
    out.push_back(static_cast<std::uint16_t>(number));
  }
}

void JsonFields::read(const char* name, std::map<std::string, std::string>& out) {
  const auto field = find(name);
  simdjson::dom::object inner;
  if (!field || !take(name, field->get(inner), "an object of strings")) return;
  out.clear();
  for (const auto [key, content] : inner) {
    std::string_view text;
    if (!take(name, content.get(text), "an object of strings")) return;
    out.insert_or_assign(std::string(key), std::string(text));
  }
}

}  // namespace smg::control
