#include "smg/observability/request_id.hpp"

#include <array>
#include <cstdint>
#include <random>

namespace smg::observability {
namespace {

constexpr std::size_t kRandomCharacters = 24;
constexpr std::size_t kCharactersPerDraw = 8;  // 62^8 is 2^47.6: the bias of the remainder is nil

[[nodiscard]] std::mt19937_64 seeded_generator() {
  std::random_device entropy;
  std::array<std::uint32_t, 8> words{};
  for (auto& word : words) word = entropy();
  std::seed_seq seed(words.begin(), words.end());
  return std::mt19937_64(seed);
}

}  // namespace

std::string make_request_id(std::string_view prefix) {
  static constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  thread_local std::mt19937_64 generator = seeded_generator();
  std::string id;
  id.reserve(prefix.size() + kRandomCharacters);
  id += prefix;
  std::uint64_t draw = 0;
  for (std::size_t i = 0; i < kRandomCharacters; ++i) {
    if (i % kCharactersPerDraw == 0) draw = generator();
    id += kAlphabet[draw % kAlphabet.size()];
    draw /= kAlphabet.size();
  }
  return id;
}

}  // namespace smg::observability
