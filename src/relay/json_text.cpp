#include "relay/json_text.hpp"

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>

namespace smg::relay::json {

namespace {

constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

/// Steps over digits; false if there is none.
bool skip_digits(const char*& at, const char* end) noexcept {
  const char* const start = at;
  while (at != end && is_digit(*at)) ++at;
  return at != start;
}

const char* find_backslash(const char* at, const char* end) noexcept {
  if (at == end) return end;
  const void* const found = std::memchr(at, '\\', static_cast<std::size_t>(end - at));
  return found != nullptr ? static_cast<const char*>(found) : end;
}

std::optional<std::uint32_t> hex_digit(char c) noexcept {
  if (is_digit(c)) return static_cast<std::uint32_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<std::uint32_t>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<std::uint32_t>(c - 'A' + 10);
  return std::nullopt;
}

/// The code unit of `\uXXXX` at `at`, which is left behind it.
std::optional<std::uint32_t> code_unit(const char*& at, const char* end) noexcept {
  if (end - at < 6 || at[0] != '\\' || at[1] != 'u') return std::nullopt;
  std::uint32_t unit = 0;
  for (int i = 2; i < 6; ++i) {
    const auto digit = hex_digit(at[i]);
    if (!digit) return std::nullopt;
    unit = unit << 4 | *digit;
  }
  at += 6;
  return unit;
}

/// The character of one `\uXXXX` or of a surrogate pair; none for half a pair.
std::optional<std::uint32_t> code_point(const char*& at, const char* end) noexcept {
  const auto high = code_unit(at, end);
  if (!high || *high < 0xD800 || *high > 0xDFFF) return high;
  if (*high > 0xDBFF) return std::nullopt;
  const auto low = code_unit(at, end);
  if (!low || *low < 0xDC00 || *low > 0xDFFF) return std::nullopt;
  return 0x10000 + ((*high - 0xD800) << 10 | (*low - 0xDC00));
}

/// What a one-letter escape stands for; NUL: there is no such escape.
constexpr char simple_escape(char letter) noexcept {
  switch (letter) {
    case '"': return '"';
    case '\\': return '\\';
    case '/': return '/';
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return '\0';
  }
}

void append_utf8(std::string& out, std::uint32_t point) {
  const auto put = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | point >> 6);
    put(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    put(0xE0 | point >> 12);
    put(0x80 | (point >> 6 & 0x3F));
    put(0x80 | (point & 0x3F));
  } else {
    put(0xF0 | point >> 18);
    put(0x80 | (point >> 12 & 0x3F));
    put(0x80 | (point >> 6 & 0x3F));
    put(0x80 | (point & 0x3F));
  }
}

}  // namespace

bool is_number(std::string_view text) noexcept {
  const char* at = text.data();
  const char* const end = at + text.size();
  if (at != end && *at == '-') ++at;
  if (at != end && *at == '0') {
    ++at;
  } else if (!skip_digits(at, end)) {
    return false;
  }
  if (at != end && *at == '.') {
    ++at;
    if (!skip_digits(at, end)) return false;
  }
  if (at != end && (*at == 'e' || *at == 'E')) {
    ++at;
    if (at != end && (*at == '+' || *at == '-')) ++at;
    if (!skip_digits(at, end)) return false;
  }
  return at == end;
}

bool is_literal(std::string_view text) noexcept {
  return text == "true" || text == "false" || text == "null";
}

bool escapes_are_valid(std::string_view inside) noexcept {
  const char* const end = inside.data() + inside.size();
  const char* at = find_backslash(inside.data(), end);
  while (at != end) {
    if (end - at < 2) return false;
    if (at[1] == 'u') {
      if (!code_point(at, end)) return false;
    } else {
      if (simple_escape(at[1]) == '\0') return false;
      at += 2;
    }
    at = find_backslash(at, end);
  }
  return true;
}

void append_unescaped(std::string& out, std::string_view inside) {
  const char* at = inside.data();
  const char* const end = at + inside.size();
  while (at != end) {
    const char* const backslash = find_backslash(at, end);
    out.append(at, backslash);
    at = backslash;
    if (end - at < 2) break;
    if (at[1] == 'u') {
      const auto point = code_point(at, end);
      if (!point) break;
      append_utf8(out, *point);
    } else {
      out += simple_escape(at[1]);
      at += 2;
    }
  }
}

std::string unescaped(std::string_view inside) {
  std::string out;
  out.reserve(inside.size());
  append_unescaped(out, inside);
  return out;
}

double number_value(std::string_view number) noexcept {
  double value = 0;
  const auto result = std::from_chars(number.data(), number.data() + number.size(), value);
  if (result.ec == std::errc{}) return value;
  // from_chars does not say on which side it fell out of the range; strtod gives 0 or infinity.
  return std::strtod(number.data(), nullptr);
}

}  // namespace smg::relay::json
