#include <string>
#include <vector>

#include "fuzz/fuzz_input.hpp"
#include "relay/minimax_framer.hpp"

namespace {

using namespace smg::fuzz;
using smg::relay::minimax::SseFramer;
using Found = SseFramer::Found;

constexpr std::size_t kMostBytes = 64;

struct Framed {
  std::vector<std::string> frames;  ///< the last one: what is left
  bool oversized = false;

  bool operator==(const Framed&) const = default;
};

Framed framed(std::string_view wire, std::size_t piece_size) {
  SseFramer framer{kMostBytes};
  Framed all;
  std::string taken;
  std::string fed;
  const auto take = [&](std::size_t size) {
    taken += framer.front().substr(0, size);
    all.frames.back() += framer.front().substr(0, size);
    framer.take(size);
  };
  in_pieces(wire, piece_size, [&](std::vector<char>& piece) {
    framer.append({piece.data(), piece.size()});
    fed.append(piece.data(), piece.size());
    for (auto found = framer.find(); found != Found::Nothing; found = framer.find()) {
      if (found == Found::Oversized) {
        all.oversized = true;
        return false;
      }
      if (found == Found::LateLineFeed) {
        require(framer.front().starts_with('\n') && !all.frames.empty(),
                "a line feed is late for a frame");
        take(1);
        continue;
      }
      const auto& frame = framer.frame();
      require(frame.size > 0 && frame.size <= framer.front().size(), "a frame is there");
      require(lies_in(frame.line, framer.front().substr(0, frame.size)),
              "a line lies in its frame");
      require(frame.line.find_first_of("\r\n") == std::string_view::npos, "a line is one line");
      all.frames.emplace_back();
      take(frame.size);
    }
    return true;
  });
  require(taken + std::string(framer.front()) == fed, "frames and the rest are the stream");
  // Behind a frame that is too long, nobody looks any more.
  if (!all.oversized) all.frames.emplace_back(framer.front());
  return all;
}

}  // namespace

/// The first byte is the size of the pieces in which the stream arrives.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  Input input(bytes, size);
  const std::size_t piece = 1U + input.byte();
  require(framed(input.rest(), piece) == framed(input.rest(), std::string_view::npos),
          "pieces make no difference");
  return 0;
}
