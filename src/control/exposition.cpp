#include "control/exposition.hpp"

#include <algorithm>

#include <smg/base/text.hpp>

namespace smg::control {
namespace {

bool starts_metric_name(char c) noexcept {
  const char letter = text::lower(c);
  return (letter >= 'a' && letter <= 'z') || c == '_' || c == ':';
}

/// The place of the brace that closes the labels, outside any quoted value;
/// npos: there is none.
std::size_t end_of_labels(std::string_view line) noexcept {
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && quoted) {
      ++i;
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == '}' && !quoted) {
      return i;
    }
  }
  return std::string_view::npos;
}

}  // namespace

std::optional<ExpositionSample> parse_sample(std::string_view line) noexcept {
  const auto name_end = line.find_first_of("{ \t");
  if (line.empty() || !starts_metric_name(line.front()) || name_end == line.npos) {
    return std::nullopt;
  }
  ExpositionSample sample;
  sample.name = line.substr(0, name_end);
  sample.value = text::trim(line.substr(name_end));
  if (sample.value.starts_with('{')) {
    const auto end = end_of_labels(sample.value);
    if (end == line.npos) return std::nullopt;
    sample.labels = text::trim(sample.value.substr(1, end - 1));
    sample.value = text::trim(sample.value.substr(end + 1));
  }
  if (sample.value.empty()) return std::nullopt;
  if (sample.labels.ends_with(',')) sample.labels.remove_suffix(1);
  return sample;
}

std::string_view take_line(std::string_view& text) noexcept {
  auto line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return text::trim(line);
}

}  // namespace smg::control
