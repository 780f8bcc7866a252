#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

/// What the fuzz targets share.
namespace smg::fuzz {

/// Ends the run with a finding unless `holds`.
inline void require(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "Property violated: %s\n", property);
  std::abort();
}

/// The bytes of a run. Those at the front choose how the others are used.
class Input {
 public:
  Input(const std::uint8_t* bytes, std::size_t size)
      : rest_(reinterpret_cast<const char*>(bytes), size) {}

  /// The next byte, or 0 behind the last one.
  std::uint8_t byte() { return rest_.empty() ? std::uint8_t{0} : next(); }

  /// Up to `most` bytes.
  std::string_view text(std::size_t most) {
    const auto piece = rest_.substr(0, most);
    rest_.remove_prefix(piece.size());
    return piece;
  }

  [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }
  [[nodiscard]] std::string_view rest() const noexcept { return rest_; }

 private:
  std::uint8_t next() {
    const auto first = static_cast<std::uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return first;
  }

  std::string_view rest_;
};

/// Calls `take(std::vector<char>& piece) -> bool` with one piece after the other until it says
/// false, each in an allocation that ends where the piece does, so that a sanitizer sees whoever
/// reads on.
template <class Take>
void in_pieces(std::string_view bytes, std::size_t size, Take&& take) {
  while (!bytes.empty()) {
    const auto piece = bytes.substr(0, size);
    bytes.remove_prefix(piece.size());
    std::vector<char> copy(piece.begin(), piece.end());
    if (!take(copy)) return;
  }
}

/// Whether `part` lies in `whole`, as memory; an empty one may lie anywhere.
inline bool lies_in(std::string_view part, std::string_view whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

}  // namespace smg::fuzz
