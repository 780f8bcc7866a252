#pragma once

#include <cstdint>
#include <span>
#include <string_view>

/// Which flags and values the parser knows but this version does not implement.
namespace smg::cli {

enum class Refused : std::uint8_t {
  Always,   ///< any use; a switch that is turned off is no use
  Removed,  ///< gone for good: a usage error that names what to use instead
};

/// A row of the table of refused flags.
struct RefusedFlag {
  std::string_view names;         ///< as FlagSet takes them, the first one is the flag's name
  std::string_view value_name{};  ///< empty: a switch
  std::string_view default_text{};
  std::string_view help{};  ///< of a removed flag: what to use instead
  Refused refused = Refused::Always;
};

[[nodiscard]] std::span<const RefusedFlag> refused_flags();

/// The row whose first name is `name`, or nullptr: the flag is supported.
[[nodiscard]] const RefusedFlag* find_refused(std::string_view name);

/// Whether a choice of a supported flag is refused, such as `--policy manual`.
[[nodiscard]] bool is_refused_value(std::string_view flag, std::string_view value);

/// Whether `name` belongs to a family of unsupported flags, such as `--redis-`.
[[nodiscard]] bool is_of_refused_family(std::string_view name);

/// "--mesh-* --mm-* …", for help.
[[nodiscard]] std::span<const std::string_view> refused_families();

}  // namespace smg::cli
