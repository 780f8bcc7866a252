#include "smg/observability/request_id.hpp"

#include <smg/base/random_bits.hpp>

namespace smg::observability {
namespace {

constexpr std::size_t kRandomCharacters = 24;
constexpr std::size_t kCharactersPerDraw = 8;  // 62^8 is 2^47.6: the bias of the remainder is nil

}  // namespace

std::string make_request_id(std::string_view prefix) {
  static constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  char characters[kRandomCharacters];
  std::uint64_t draw = 0;
  for (std::size_t i = 0; i < kRandomCharacters; ++i) {
    if (i % kCharactersPerDraw == 0) draw = random_bits();
    characters[i] = kAlphabet[draw % kAlphabet.size()];
    draw /= kAlphabet.size();
  }
  std::string id;
  id.reserve(prefix.size() + kRandomCharacters);
  id.append(prefix).append(characters, kRandomCharacters);
  return id;
}

}  // namespace smg::observability
