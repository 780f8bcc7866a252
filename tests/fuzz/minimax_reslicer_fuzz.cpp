#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <smg/relay/minimax_reslicer.hpp>

namespace {

using smg::relay::MinimaxReslicer;

/// The whole output for a stream that arrives in pieces of `piece` bytes and leaves `most` at a
/// time.
std::string resliced(std::string_view wire, std::size_t piece, std::size_t most) {
  MinimaxReslicer reslicer;
  std::string out;
  while (!wire.empty()) {
    reslicer.feed(wire.substr(0, piece));
    while (reslicer.produce(out, most)) {
    }
    wire.remove_prefix(std::min(piece, wire.size()));
  }
  reslicer.finish();
  while (reslicer.produce(out, most)) {
  }
  return out;
}

}  // namespace

/// The first two bytes choose the pieces in which the others arrive and leave: they must not
/// matter. Silences do, so a run with them only has to end well.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size < 2) return 0;
  const std::string input(bytes, bytes + size);
  const auto wire = std::string_view{input}.substr(2);
  const auto whole = resliced(wire, std::string_view::npos, MinimaxReslicer::kOutputBytes);
  if (resliced(wire, 1 + bytes[0], 1 + bytes[1]) != whole) std::abort();

  MinimaxReslicer reslicer;
  std::string out;
  for (std::size_t at = 0; at < wire.size(); at += 1 + bytes[0]) {
    reslicer.feed(wire.substr(at, 1 + bytes[0]));
    while (reslicer.produce(out)) {
    }
    reslicer.idle();
    while (reslicer.produce(out)) {
    }
    if (reslicer.has_pending()) std::abort();
  }
  return 0;
}
