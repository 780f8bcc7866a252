#pragma once

#include <cstdint>
#include <string_view>

namespace smg::control {

/// Which key a path asks for (spec, shell 2.2).
enum class RouteClass : std::uint8_t {
  Open,     ///< none: probes, listings, and paths that are nobody's
  Data,     ///< the key of --api-key
  Control,  ///< a control-plane credential; without any configured, the key of --api-key
};

/// The class of an exact raw path, without its query. Paths of the API that this version does not
/// serve have theirs as well: nobody learns without a key what is behind it.
[[nodiscard]] RouteClass route_class(std::string_view path) noexcept;

}  // namespace smg::control
