#include "control/query.hpp"

#include <charconv>

#include <smg/base/text.hpp>

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

std::string percent_encoded(std::string_view text, std::string_view kept) {
  constexpr std::string_view kUnreserved = "-._~";
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const char letter = text::lower(c);
    const bool alphanumeric = (letter >= 'a' && letter <= 'z') || (c >= '0' && c <= '9');
    if (alphanumeric || kUnreserved.find(c) != kUnreserved.npos || kept.find(c) != kept.npos) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out.append({'%', kDigits[byte >> 4], kDigits[byte & 15]});
  }
  return out;
}

}  // namespace smg::control
