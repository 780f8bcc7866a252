#pragma once

#include <optional>
#include <string_view>

namespace smg::control {

/// One line of an exposition (Prometheus text format 0.0.4), as views into it.
struct ExpositionSample {
  std::string_view name;
  std::string_view labels;  ///< between the braces, without a last comma; empty: none
  std::string_view value;   ///< with the timestamp, if there is one
};

/// Reads a line without its line end; nothing for comments, empty lines and
/// what is no sample.
[[nodiscard]] std::optional<ExpositionSample> parse_sample(std::string_view line) noexcept;

/// Takes the first line off `text`, without its line end and the blanks around
/// it.
[[nodiscard]] std::string_view take_line(std::string_view& text) noexcept;

}  // namespace smg::control
