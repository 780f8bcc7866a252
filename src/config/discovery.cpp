#include <algorithm>

#include <smg/config/discovery.hpp>
#include <smg/config/ip_literal.hpp>

namespace smg::config {
namespace {

constexpr std::size_t kLongestName = 63;
constexpr std::size_t kLongestPrefix = 253;

bool is_small_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

bool is_alphanumeric(char c) {
  return is_small_or_digit(c) || (c >= 'A' && c <= 'Z');
}

/// Non-empty; of `outer` at both ends, of that or of one of `inner` between them.
template <class Outer>
bool is_word(std::string_view text, std::size_t longest, Outer outer, std::string_view inner) {
  return !text.empty() && text.size() <= longest && outer(text.front()) && outer(text.back()) &&
         std::ranges::all_of(
             text, [&](char c) { return outer(c) || inner.find(c) != std::string_view::npos; });
}

bool is_name(std::string_view text) {
  return is_word(text, kLongestName, is_alphanumeric, "-_.");
}

}  // namespace

std::string cluster_api_url(std::string_view host, std::string_view port) {
  if (host.empty()) return {};
  const auto address = ip_literal(host);
  std::string url = "https://";
  const bool is_ipv6 = address && address->find(':') != std::string::npos;
  url += is_ipv6 ? "[" + *address + "]" : std::string(host);
  if (!port.empty()) url += ":" + std::string(port);
  return url;
}

bool is_label_key(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) return is_name(text);
  return is_word(text.substr(0, slash), kLongestPrefix, is_small_or_digit, "-.") &&
         is_name(text.substr(slash + 1));
}

bool is_label_value(std::string_view text) {
  return text.empty() || is_name(text);
}

bool is_namespace(std::string_view text) {
  return is_word(text, kLongestName, is_small_or_digit, "-");
}

}  // namespace smg::config
