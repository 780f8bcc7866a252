#include <cstdint>
#include <limits>

#include <smg/base/text.hpp>
#include <smg/routing/hints.hpp>

namespace smg::routing {
namespace {

constexpr std::size_t kMaxTokens = 512;
constexpr std::size_t kMaxBytes = 4096;
constexpr std::size_t kMaxKeyBytes = 128;

bool is_token_id(std::string_view digits) noexcept {
  const auto id = text::parse_decimal(digits);
  return id && *id <= std::numeric_limits<std::uint32_t>::max();
}

/// Bytes of the UTF-8 sequence (RFC 3629, section 4) at the front of `text`; 0: it is none.
std::size_t sequence_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) -> unsigned {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned lead = byte(0);
  if (lead < 0x80U) return 1;
  if (lead < 0xC2U || lead > 0xF4U || !continues(1)) return 0;
  if (lead < 0xE0U) return 2;
  const unsigned second = byte(1);
  if (lead == 0xE0U && second < 0xA0U) return 0;  // overlong
  if (lead == 0xEDU && second > 0x9FU) return 0;  // a surrogate
  if (!continues(2)) return 0;
  if (lead < 0xF0U) return 3;
  if (lead == 0xF0U && second < 0x90U) return 0;  // overlong
  if (lead == 0xF4U && second > 0x8FU) return 0;  // past U+10FFFF
  return continues(3) ? 4 : 0;
}

/// Without a trailing `_`, `mark` and digits.
std::string_view without_suffix(std::string_view key, char mark) noexcept {
  const auto end = key.find_last_not_of("0123456789");
  const bool cuts = end != std::string_view::npos && end + 1 < key.size() && end >= 1 &&
                    key[end] == mark && key[end - 1] == '_';
  return cuts ? key.substr(0, end - 1) : key;
}

}  // namespace

bool is_valid_routing_key(std::string_view value) noexcept {
  if (value.empty() || value.size() > kMaxKeyBytes) return false;
  while (!value.empty()) {
    const auto length = sequence_length(value);
    if (length == 0) return false;
    value.remove_prefix(length);
  }
  return true;
}

std::string_view session_key(std::string_view value) noexcept {
  if (!is_valid_routing_key(value)) return {};
  const auto plain = without_suffix(without_suffix(value, 'r'), 't');
  return plain.empty() ? value : plain;
}

std::optional<std::vector<std::uint32_t>> parse_tokens_hint(std::string_view value) {
  if (!is_valid_tokens_hint(value)) return std::nullopt;
  std::vector<std::uint32_t> ids;
  text::for_each_element(value, [&](std::string_view digits) {
    ids.push_back(static_cast<std::uint32_t>(text::parse_decimal(digits).value_or(0)));
  });
  return ids;
}

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
