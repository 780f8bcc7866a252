#pragma once

#include <string_view>

namespace smg::gateway {

/// Tells the service manager about a change of state, as sd_notify(3) does: a datagram to the
/// socket that NOTIFY_SOCKET names. Without one, or if it cannot be reached, nothing happens.
void notify_service_manager(std::string_view state) noexcept;

}  // namespace smg::gateway
