#include <chrono>
#include <cstdint>

#include <smg/base/random_bits.hpp>
#include <smg/base/uuid.hpp>

namespace smg {
namespace {

bool is_dash_place(std::size_t place) noexcept {
  return place == 8 || place == 13 || place == 18 || place == 23;
}

bool is_hex(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

void append_hex(std::string& out, std::uint64_t bits) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4) {
    if (is_dash_place(out.size())) out += '-';
    out += kDigits[(bits >> shift) & 0xF];
  }
}

}  // namespace

std::string make_uuid() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto milliseconds = static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  const std::uint64_t high = (milliseconds << 16) | 0x7000U | (random_bits() & 0x0FFFU);
  const std::uint64_t low = (random_bits() >> 2) | (std::uint64_t{1} << 63);
  std::string out;
  out.reserve(36);
  append_hex(out, high);
  append_hex(out, low);
  return out;
}

bool is_uuid(std::string_view text) noexcept {
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_dash_place(i) ? text[i] != '-' : !is_hex(text[i])) return false;
  }
  return true;
}

}  // namespace smg
