#include <array>

#include <arpa/inet.h>

#include <smg/config/ip_literal.hpp>

namespace smg::config {

std::optional<std::string> ip_literal(std::string_view text) {
  const bool bracketed = text.size() > 2 && text.front() == '[' && text.back() == ']';
  if (bracketed) text = text.substr(1, text.size() - 2);
  const std::string address(text);
  if (address.find('\0') != std::string::npos) return std::nullopt;
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  std::array<char, INET6_ADDRSTRLEN> spelling{};
  for (const int family : {AF_INET, AF_INET6}) {
    if (bracketed && family == AF_INET) continue;
    if (inet_pton(family, address.c_str(), bytes.data()) != 1) continue;
    return inet_ntop(family, bytes.data(), spelling.data(), spelling.size());
  }
  return std::nullopt;
}

}  // namespace smg::config
