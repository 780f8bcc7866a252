#include <array>
#include <optional>

#include <smg/base/text.hpp>
#include <smg/config/ip_literal.hpp>
#include <smg/config/worker_url.hpp>

namespace smg::config {
namespace {

struct Scheme {
  std::string_view name;
  std::uint16_t default_port;
};

constexpr std::array<Scheme, 4> kNetworkSchemes{
    {{"http", 80}, {"https", 443}, {"grpc", 80}, {"grpcs", 443}}};
constexpr std::string_view kIpcPrefix = "ipc://";
constexpr std::size_t kLongestHostName = 253;

GatewayError refuse(std::string why) {
  return fail(ErrorCode::BadRequest, std::move(why));
}

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

constexpr bool is_host_char(char c) {
  return is_digit(c) || (text::lower(c) >= 'a' && text::lower(c) <= 'z') || c == '-' || c == '_' ||
         c == '.';
}

/// A registered name. One that ends in a number is left to ip_literal: resolvers read such names as
/// addresses, each in its own way.
bool is_host_name(std::string_view host) {
  if (host.empty() || host.size() > kLongestHostName || host.front() == '.') return false;
  if (host.find("..") != std::string_view::npos) return false;
  for (const char c : host) {
    if (!is_host_char(c)) return false;
  }
  std::string_view last = host;
  if (last.back() == '.') last.remove_suffix(1);
  last = last.substr(last.rfind('.') + 1);
  return last.find_first_not_of("0123456789") != std::string_view::npos;
}

struct HostAndPort {
  std::string_view host;  ///< with brackets, if it has any
  std::optional<std::string_view> port;
};

HostAndPort split_authority(std::string_view authority) {
  const auto bracket = authority.rfind(']');
  const auto colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon == std::string_view::npos) return {authority, std::nullopt};
  return {authority.substr(0, colon), authority.substr(colon + 1)};
}

Result<std::uint16_t> parse_port(std::string_view digits) {
  const auto port = text::parse_decimal(digits);
  if (!port || *port == 0 || *port > 65535) return refuse("invalid port number in the URL");
  return static_cast<std::uint16_t>(*port);
}

Result<std::string> parse_host(std::string_view host) {
  if (host.empty()) return refuse("empty host in the URL");
  if (auto address = ip_literal(host)) return std::move(*address);
  if (!is_host_name(host)) return refuse("invalid host in the URL");
  return text::to_lower(host);
}

Result<WorkerUrl> parse_ipc(std::string_view url) {
  auto path = url.substr(kIpcPrefix.size());
  while (!path.empty() && path.back() == '/') path.remove_suffix(1);
  if (path.empty()) return refuse("empty path in the ipc URL");
  return WorkerUrl{"ipc", {}, 0, std::string(kIpcPrefix) + std::string(path)};
}

Result<WorkerUrl> parse_network(const Scheme& scheme, std::string_view rest) {
  const auto authority = rest.substr(0, rest.find_first_of("/?#"));
  if (authority.find('@') != std::string_view::npos) {
    return refuse("user info in the URL is not allowed");
  }
  const auto parts = split_authority(authority);
  auto host = parse_host(parts.host);
  if (!host) return host.error();
  std::uint16_t port = scheme.default_port;
  if (parts.port) {
    auto parsed = parse_port(*parts.port);
    if (!parsed) return parsed.error();
    port = *parsed;
  }
  const auto tail = rest.substr(authority.size());
  if (!tail.empty() && tail != "/") {
    return refuse("a path, query or fragment in the URL is not allowed");
  }
  WorkerUrl url{std::string(scheme.name), std::move(*host), port, {}};
  const bool is_ipv6 = url.host.find(':') != std::string::npos;
  url.text = url.scheme + "://" + (is_ipv6 ? "[" + url.host + "]" : url.host);
  if (port != scheme.default_port) url.text += ":" + std::to_string(port);
  return url;
}

}  // namespace

Result<WorkerUrl> parse_worker_url(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7F) {
      return refuse("a blank, control or non-ASCII character in the URL is not allowed");
    }
  }
  if (text.starts_with(kIpcPrefix)) return parse_ipc(text);
  const auto separator = text.find("://");
  for (const auto& scheme : kNetworkSchemes) {
    if (separator != std::string_view::npos && text.substr(0, separator) == scheme.name) {
      return parse_network(scheme, text.substr(separator + 3));
    }
  }
  return refuse(
      "URL must start with one of http://, https://, grpc://, grpcs:// and ipc://, in lower case");
}

std::string without_user_info(std::string_view text) {
  const auto at = text.rfind('@');
  if (at == std::string_view::npos) return std::string(text);
  const auto separator = text.find("://");
  const auto start = separator == std::string_view::npos || separator > at ? 0 : separator + 3;
  return std::string(text.substr(0, start)) + "***" + std::string(text.substr(at));
}

}  // namespace smg::config
