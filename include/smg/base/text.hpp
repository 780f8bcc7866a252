#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// ASCII text as protocols need it: no locale, no allocation unless a string is returned.
namespace smg::text {

[[nodiscard]] constexpr char lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

[[nodiscard]] constexpr bool equals_ignoring_case(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

[[nodiscard]] constexpr bool starts_with_ignoring_case(std::string_view text,
                                                       std::string_view prefix) noexcept {
  return text.size() >= prefix.size() &&
         equals_ignoring_case(text.substr(0, prefix.size()), prefix);
}

/// Without leading and trailing blanks and tabs (OWS of RFC 9110 5.6.3).
[[nodiscard]] constexpr std::string_view trim(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

/// Calls `visit` with each trimmed, non-empty element of a comma-separated list.
template <class Visit>
constexpr void for_each_element(std::string_view list, Visit&& visit) {
  while (!list.empty()) {
    const auto comma = list.find(',');
    const auto element = trim(list.substr(0, comma));
    if (!element.empty()) visit(element);
    if (comma == std::string_view::npos) return;
    list.remove_prefix(comma + 1);
  }
}

/// Whether a comma-separated list has this element, compared without case.
[[nodiscard]] constexpr bool list_has(std::string_view list, std::string_view element) noexcept {
  bool found = false;
  for_each_element(list,
                   [&](std::string_view e) { found = found || equals_ignoring_case(e, element); });
  return found;
}

/// A number of decimal digits only: no sign, no blanks, no overflow.
[[nodiscard]] std::optional<std::uint64_t> parse_decimal(std::string_view digits) noexcept;

[[nodiscard]] std::string to_lower(std::string_view text);

/// Appends `text` to `out` as the inside of a JSON string: quotes, backslashes and controls
/// escaped.
void append_json_escaped(std::string& out, std::string_view text);

/// `text` as a JSON string, with its quotes.
[[nodiscard]] std::string json_quoted(std::string_view text);

}  // namespace smg::text
