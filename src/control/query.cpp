#include "control/query.hpp"

#include <charconv>

namespace smg::control {
namespace {

std::optional<char> decode_escape(std::string_view digits) {
  unsigned value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (digits.size() != 2 || error != std::errc{} || end != digits.data() + 2) return std::nullopt;
  return static_cast<char>(value);
}

std::string decode(std::string_view raw) {
  std::string out;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const auto escaped = raw[i] == '%' ? decode_escape(raw.substr(i + 1, 2)) : std::nullopt;
    if (escaped) i += 2;
    out += escaped.value_or(raw[i] == '+' ? ' ' : raw[i]);
  }
  return out;
}

}  // namespace

std::optional<std::string> query_parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const auto pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const auto equals = pair.find('=');
    if (decode(pair.substr(0, equals)) != name) continue;
    return equals == std::string_view::npos ? std::string() : decode(pair.substr(equals + 1));
  }
  return std::nullopt;
}

}  // namespace smg::control
