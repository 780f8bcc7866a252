#pragma once

#include <smg/net/resolver.hpp>

namespace smg::net {

/// 127.0.0.0/8, also as mapped into IPv6, and ::1.
[[nodiscard]] bool is_loopback(const Endpoint& endpoint) noexcept;

/// Makes the connections of a socket, whose address this is, send without pacing over loopback. A
/// system's congestion control that paces (BBR) arms a timer for each segment, where no segment is
/// ever lost: for large bodies that costs as much as all the rest. To be called before `connect` or
/// `listen`; failing changes nothing but that cost.
void send_unpaced_over_loopback(int descriptor, const Endpoint& endpoint) noexcept;

}  // namespace smg::net
