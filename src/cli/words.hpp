#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// From the words of a command line, a variable or a file to values.
namespace smg::cli {

using Words = std::vector<std::string>;

/// The words cannot be understood: exit code 2. The text leaves out the flag's name.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The words are understood, but not acceptable: exit code 1. One text for each reason, without the
/// flag's name.
struct ValueError : std::runtime_error {
  explicit ValueError(Words texts)
      : std::runtime_error("refused value"), reasons(std::move(texts)) {}
  explicit ValueError(std::string text) : ValueError(Words{std::move(text)}) {}

  Words reasons;
};

/// Throws UsageError if `word` is no number of decimal digits, ValueError if it is above `most`.
std::uint64_t to_unsigned(std::string_view word, std::uint64_t most);

/// The same with an optional minus sign, saturating: what is beyond the type is as good as its end.
std::int64_t to_signed(std::string_view word);

/// Throws UsageError if `word` is no number. "nan" and "inf" are numbers; validation judges them.
double to_double(std::string_view word);

/// Throws UsageError if `word` is none of true, yes, on, 1 and false, no, off, 0.
bool to_bool(std::string_view word);

/// The elements of a list in an environment variable: split at blanks and commas.
Words split_list(std::string_view text);

/// A number as help shows it.
std::string shown(double value);

}  // namespace smg::cli
