#include "routing/prompt_units.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace smg::routing {
namespace {

constexpr bool begins_character(char c) noexcept {
  return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
}

}  // namespace

std::string_view bytes_of(std::span<const std::uint32_t> tokens) noexcept {
  static_assert(std::endian::native == std::endian::little);
  return {reinterpret_cast<const char*>(tokens.data()), tokens.size_bytes()};
}

std::size_t count_characters(std::string_view text) noexcept {
  // Eight bytes at a time, each lane of `lanes` counting the continuation bytes that pass through
  // it; prompts are long, and this runs for each of them.
  constexpr std::uint64_t kOnes = 0x0101010101010101U;
  constexpr std::uint64_t kPairs = 0x00FF00FF00FF00FFU;
  constexpr std::size_t kMaxSteps = 255;
  std::size_t continuations = 0;
  std::size_t at = 0;
  while (text.size() - at >= 8) {
    const std::size_t steps = std::min((text.size() - at) / 8, kMaxSteps);
    std::uint64_t lanes = 0;
    for (std::size_t i = 0; i < steps; ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, text.data() + at + 8 * i, 8);
      lanes += (word >> 7U) & (~word >> 6U) & kOnes;
    }
    const std::uint64_t pairs = (lanes & kPairs) + ((lanes >> 8U) & kPairs);
    continuations += (pairs * 0x0001000100010001U) >> 48U;
    at += 8 * steps;
  }
  const auto rest = text.substr(at);
  return at - continuations +
         static_cast<std::size_t>(std::count_if(rest.begin(), rest.end(), begins_character));
}

std::string_view first_characters(std::string_view text, std::size_t count) noexcept {
  if (text.size() <= count) return text;
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (begins_character(text[i]) && seen++ == count) return text.substr(0, i);
  }
  return text;
}

}  // namespace smg::routing
