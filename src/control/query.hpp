#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace smg::control {

/// The value of the first parameter of this name in a raw query, with percent escapes and '+'
/// decoded; nothing if there is none. A broken escape stays as it is.
[[nodiscard]] std::optional<std::string> query_parameter(std::string_view query,
                                                         std::string_view name);

/// A text as the value of a parameter in a query (RFC 3986 3.4): unreserved characters stay as they
/// are, and those of `kept`.
[[nodiscard]] std::string percent_encoded(std::string_view text, std::string_view kept = {});

}  // namespace smg::control
