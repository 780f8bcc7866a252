#pragma once

#include <string_view>

namespace smg::http {

/// The current Date value (RFC 9110 5.6.7), formatted once a second and thread; valid until the
/// next call.
[[nodiscard]] std::string_view date_now();

}  // namespace smg::http
