#include "routing/blake3.hpp"

#include <algorithm>
#include <bit>

namespace smg::routing {
namespace {

// Names and numbers are those of the BLAKE3 specification, section 2.
using Words = std::array<std::uint32_t, 8>;
using State = std::array<std::uint32_t, 16>;

constexpr std::size_t kBlockBytes = 64;
constexpr std::size_t kChunkBytes = 1024;
constexpr Words kInitial = {0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A,
                            0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19};

enum Flag : std::uint32_t { kChunkStart = 1, kChunkEnd = 2, kParent = 4, kRoot = 8 };

/// The order of the message words in each round: the permutation, applied over and over.
constexpr auto kSchedule = [] {
  constexpr std::array<std::uint8_t, 16> kPermutation = {2, 6,  3,  10, 7, 0,  4,  13,
                                                         1, 11, 12, 5,  9, 14, 15, 8};
  std::array<std::array<std::uint8_t, 16>, 7> schedule{};
  for (std::uint8_t i = 0; i < 16; ++i) schedule[0][i] = i;
  for (std::size_t round = 1; round < 7; ++round) {
    for (std::size_t i = 0; i < 16; ++i) schedule[round][i] = schedule[round - 1][kPermutation[i]];
  }
  return schedule;
}();

void mix(State& v, std::size_t a, std::size_t b, std::size_t c, std::size_t d, std::uint32_t x,
         std::uint32_t y) noexcept {
  v[a] += v[b] + x;
  v[d] = std::rotr(v[d] ^ v[a], 16);
  v[c] += v[d];
  v[b] = std::rotr(v[b] ^ v[c], 12);
  v[a] += v[b] + y;
  v[d] = std::rotr(v[d] ^ v[a], 8);
  v[c] += v[d];
  v[b] = std::rotr(v[b] ^ v[c], 7);
}

/// The first half of the compression function's output, which is all that a 32-byte hash needs.
Words compress(const Words& chaining, const State& message, std::uint64_t counter,
               std::uint32_t length, std::uint32_t flags) noexcept {
  State v{};
  std::copy(chaining.begin(), chaining.end(), v.begin());
  std::copy_n(kInitial.begin(), 4, v.begin() + 8);
  v[12] = static_cast<std::uint32_t>(counter);
  v[13] = static_cast<std::uint32_t>(counter >> 32);
  v[14] = length;
  v[15] = flags;
  for (const auto& s : kSchedule) {
    mix(v, 0, 4, 8, 12, message[s[0]], message[s[1]]);
    mix(v, 1, 5, 9, 13, message[s[2]], message[s[3]]);
    mix(v, 2, 6, 10, 14, message[s[4]], message[s[5]]);
    mix(v, 3, 7, 11, 15, message[s[6]], message[s[7]]);
    mix(v, 0, 5, 10, 15, message[s[8]], message[s[9]]);
    mix(v, 1, 6, 11, 12, message[s[10]], message[s[11]]);
    mix(v, 2, 7, 8, 13, message[s[12]], message[s[13]]);
    mix(v, 3, 4, 9, 14, message[s[14]], message[s[15]]);
  }
  Words out{};
  for (std::size_t i = 0; i < 8; ++i) out[i] = v[i] ^ v[i + 8];
  return out;
}

State words_of(std::string_view block) noexcept {
  State words{};
  for (std::size_t i = 0; i < block.size(); ++i) {
    words[i / 4] |= std::uint32_t{static_cast<std::uint8_t>(block[i])} << (8 * (i % 4));
  }
  return words;
}

Words hash_chunk(std::string_view chunk, std::uint64_t counter, std::uint32_t root) noexcept {
  Words chaining = kInitial;
  std::uint32_t flags = kChunkStart;
  do {
    const auto block = chunk.substr(0, kBlockBytes);
    chunk.remove_prefix(block.size());
    if (chunk.empty()) flags |= kChunkEnd | root;
    chaining = compress(chaining, words_of(block), counter,
                        static_cast<std::uint32_t>(block.size()), flags);
    flags = 0;
  } while (!chunk.empty());
  return chaining;
}

/// The chaining value of a subtree. Its left side is as many whole chunks as a power of two allows
/// while something is left for the right side.
Words hash_subtree(std::string_view input, std::uint64_t counter, std::uint32_t root) noexcept {
  if (input.size() <= kChunkBytes) return hash_chunk(input, counter, root);
  const std::size_t left_chunks = std::bit_floor((input.size() - 1) / kChunkBytes);
  const auto left = input.substr(0, left_chunks * kChunkBytes);
  const auto right = input.substr(left.size());
  State message{};
  const Words left_value = hash_subtree(left, counter, 0);
  const Words right_value = hash_subtree(right, counter + left_chunks, 0);
  std::copy(left_value.begin(), left_value.end(), message.begin());
  std::copy(right_value.begin(), right_value.end(), message.begin() + 8);
  return compress(kInitial, message, 0, kBlockBytes, kParent | root);
}

}  // namespace

std::array<std::uint8_t, 32> blake3(std::string_view input) noexcept {
  const Words words = hash_subtree(input, 0, kRoot);
  std::array<std::uint8_t, 32> bytes{};
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::uint8_t>(words[i / 4] >> (8 * (i % 4)));
  }
  return bytes;
}

std::uint64_t blake3_u64(std::string_view input) noexcept {
  const Words words = hash_subtree(input, 0, kRoot);
  return words[0] | std::uint64_t{words[1]} << 32;
}

}  // namespace smg::routing
