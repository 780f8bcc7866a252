#pragma once

#include <string>
#include <string_view>

/// The grammar of JSON's scalars (RFC 8259), on text that is known to be valid UTF-8.
namespace smg::relay::json {

/// A number of section 6, of any magnitude and precision.
[[nodiscard]] bool is_number(std::string_view text) noexcept;

/// true, false or null.
[[nodiscard]] bool is_literal(std::string_view text) noexcept;

/// Whether every escape in `inside`, a string without its quotes, is one of section 7 and
/// surrogates come in pairs. Reads only from backslash to backslash.
[[nodiscard]] bool escapes_are_valid(std::string_view inside) noexcept;

/// Appends the text that `inside` stands for. Its escapes must be valid.
void append_unescaped(std::string& out, std::string_view inside);

/// The same by itself.
[[nodiscard]] std::string unescaped(std::string_view inside);

/// The nearest double of a valid number; infinite beyond their range. The byte behind `number` must
/// be readable and cannot be part of a number.
[[nodiscard]] double number_value(std::string_view number) noexcept;

/// Without the white space of section 2 at the end.
[[nodiscard]] constexpr std::string_view without_trailing_space(std::string_view text) noexcept {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\r' ||
                           text.back() == '\t')) {
    text.remove_suffix(1);
  }
  return text;
}

}  // namespace smg::relay::json
