#include <cstdint>
#include <limits>

#include <smg/base/text.hpp>
#include <smg/routing/hints.hpp>

namespace smg::routing {
namespace {

constexpr std::size_t kMaxTokens = 512;
constexpr std::size_t kMaxBytes = 4096;

bool is_token_id(std::string_view digits) noexcept {
  const auto id = text::parse_decimal(digits);
  return id && *id <= std::numeric_limits<std::uint32_t>::max();
}

}  // namespace

bool is_valid_tokens_hint(std::string_view value) noexcept {
  if (value.size() > kMaxBytes) return false;
  std::size_t count = 0;
  for (;;) {
    const auto comma = value.find(',');
    if (++count > kMaxTokens || !is_token_id(value.substr(0, comma))) return false;
    if (comma == std::string_view::npos) return true;
    value.remove_prefix(comma + 1);
  }
}

}  // namespace smg::routing
