#include "net/loopback.hpp"

#include <string_view>

#include <netinet/in.h>
#include <netinet/tcp.h>

namespace smg::net {

bool is_loopback(const Endpoint& endpoint) noexcept {
  constexpr std::uint8_t kNet = 127;
  if (endpoint.address.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(endpoint.address);
    return ntohl(v4.sin_addr.s_addr) >> 24 == kNet;
  }
  if (endpoint.address.ss_family != AF_INET6) return false;
  const in6_addr& v6 = reinterpret_cast<const sockaddr_in6&>(endpoint.address).sin6_addr;
  return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == kNet);
}

void send_unpaced_over_loopback(int descriptor, const Endpoint& endpoint) noexcept {
  if (!is_loopback(endpoint)) return;
  // Every Linux has it, and grants it to every process.
  constexpr std::string_view kUnpaced = "reno";
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, kUnpaced.data(), kUnpaced.size());
}

}  // namespace smg::net
