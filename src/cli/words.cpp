#include "cli/words.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <sstream>
#include <system_error>

#include <smg/base/text.hpp>

namespace smg::cli {
namespace {

std::string quoted(std::string_view word) {
  return "'" + std::string(word) + "'";
}

bool is_digits(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

std::uint64_t to_unsigned(std::string_view word, std::uint64_t most) {
  const bool negative = word.starts_with('-');
  const auto digits = negative ? word.substr(1) : word;
  if (!is_digits(digits)) throw UsageError("not a whole number: " + quoted(word));
  const auto value = text::parse_decimal(digits);
  if (negative && value != 0U) throw ValueError(std::string(word) + " - Must be >= 0");
  if (!value || *value > most) {
    throw ValueError(std::string(word) + " - Must be <= " + std::to_string(most));
  }
  return *value;
}

std::int64_t to_signed(std::string_view word) {
  const bool negative = word.starts_with('-');
  const auto digits = negative ? word.substr(1) : word;
  if (!is_digits(digits)) throw UsageError("not a whole number: " + quoted(word));
  using Limits = std::numeric_limits<std::int64_t>;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc::result_out_of_range) return negative ? Limits::min() : Limits::max();
  return value;
}

double to_double(std::string_view word) {
  double value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error == std::errc::result_out_of_range) {
    throw ValueError(std::string(word) + " - Must be within the range of a double");
  }
  if (error != std::errc{} || end != word.data() + word.size()) {
    throw UsageError("not a number: " + quoted(word));
  }
  return value;
}

bool to_bool(std::string_view word) {
  for (const std::string_view yes : {"true", "yes", "on", "1"}) {
    if (text::equals_ignoring_case(word, yes)) return true;
  }
  for (const std::string_view no : {"false", "no", "off", "0"}) {
    if (text::equals_ignoring_case(word, no)) return false;
  }
  throw UsageError("neither true nor false: " + quoted(word));
}

Words split_list(std::string_view text) {
  constexpr std::string_view kSeparators = ", \t\r\n";
  Words words;
  while (true) {
    const auto start = text.find_first_not_of(kSeparators);
    if (start == std::string_view::npos) return words;
    text.remove_prefix(start);
    const auto length = std::min(text.find_first_of(kSeparators), text.size());
    words.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
}

std::string shown(double value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

}  // namespace smg::cli
