#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace smg::config {

/// The canonical spelling, without brackets, of an IPv4 or IPv6 address (`::1` and `[::1]` are the
/// same); nullopt for anything else, names and zone ids included.
[[nodiscard]] std::optional<std::string> ip_literal(std::string_view text);

}  // namespace smg::config
