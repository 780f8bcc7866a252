#include <array>
#include <random>

#include <smg/base/random_bits.hpp>

namespace smg {
namespace {

[[nodiscard]] std::mt19937_64 seeded_generator() {
  std::random_device entropy;
  std::array<std::uint32_t, 8> words{};
  for (auto& word : words) word = entropy();
  std::seed_seq seed(words.begin(), words.end());
  return std::mt19937_64(seed);
}

}  // namespace

std::uint64_t random_bits() {
  thread_local std::mt19937_64 generator = seeded_generator();
  return generator();
}

}  // namespace smg
