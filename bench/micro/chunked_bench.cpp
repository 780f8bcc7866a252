#include <charconv>
#include <cstring>
#include <vector>

#include "micro/allocations.hpp"
#include <smg/http/chunked.hpp>

namespace smg::bench {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;

/// About one read's worth of a body in chunks of this size; its end is yet to come.
std::string chunks_of(std::size_t size) {
  std::string wire;
  while (wire.size() < kReadBytes) {
    char digits[16];
    wire.append(digits, std::to_chars(digits, digits + sizeof digits, size, 16).ptr);
    wire.append("\r\n").append(std::string(size, 'x')).append("\r\n");
  }
  return wire;
}

/// Decoding happens in place, so each operation begins with a copy of the bytes, as a read does.
void decode_chunks(benchmark::State& state) {
  const std::string wire = chunks_of(static_cast<std::size_t>(state.range()));
  std::vector<char> piece(wire.size());
  const CountAllocations count(state);
  for (auto _ : state) {
    std::memcpy(piece.data(), wire.data(), wire.size());
    http::ChunkDecoder decoder;
    auto progress = decoder.decode(piece);
    benchmark::DoNotOptimize(progress);
  }
  report_bytes(state, wire.size());
}
BENCHMARK(decode_chunks)->ArgName("chunk")->Arg(100)->Arg(4096)->Arg(32 * 1024);

}  // namespace
}  // namespace smg::bench
