#include "relay/minimax_text.hpp"

#include <algorithm>

namespace smg::relay::minimax {
namespace {

/// Of a buffer whose text has left, this much memory is worth keeping.
constexpr std::size_t kKeptCapacity = 16 * 1024;

constexpr bool starts_character(char byte) noexcept {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

}  // namespace

void PendingText::add(const Slot& slot, std::string_view text) {
  if (characters_ == 0) slot_ = slot;
  text_.erase(0, taken_);
  taken_ = 0;
  if (text_.size() <= kKeptCapacity && text_.capacity() > 2 * kKeptCapacity) text_.shrink_to_fit();
  text_ += text;
  characters_ += static_cast<std::size_t>(std::ranges::count_if(text, starts_character));
}

std::string_view PendingText::take_slice() noexcept {
  const auto rest = std::string_view{text_}.substr(taken_);
  const std::size_t length = slice_length(characters_);
  std::size_t bytes = rest.size();
  if (characters_ == rest.size()) {
    bytes = length;
  } else if (length < characters_) {
    bytes = 0;
    for (std::size_t seen = 0; seen != length + 1; ++bytes) {
      if (starts_character(rest[bytes])) ++seen;
    }
    --bytes;
  }
  characters_ -= length;
  taken_ += bytes;
  return rest.substr(0, bytes);
}

}  // namespace smg::relay::minimax
