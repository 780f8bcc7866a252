#include <charconv>
#include <string>

#include "fuzz/fuzz_input.hpp"
#include <smg/http/chunked.hpp>

namespace {

using smg::http::ChunkDecoder;
using namespace smg::fuzz;

struct Decoded {
  std::string body;
  std::size_t consumed = 0;
  bool failed = false;
  bool ended = false;

  bool operator==(const Decoded&) const = default;
};

Decoded decode(std::string_view wire, std::size_t piece_size) {
  ChunkDecoder decoder;
  Decoded all;
  in_pieces(wire, piece_size, [&](std::vector<char>& piece) {
    const auto before = piece;
    const auto progress = decoder.decode(piece);
    require(progress.produced <= progress.consumed && progress.consumed <= piece.size(),
            "a body is not longer than its coding");
    require(std::equal(piece.begin() + static_cast<std::ptrdiff_t>(progress.consumed), piece.end(),
                       before.begin() + static_cast<std::ptrdiff_t>(progress.consumed)),
            "what follows the body is left alone");
    all.body.append(piece.data(), progress.produced);
    all.consumed += progress.consumed;
    all.failed = progress.failed;
    all.ended = decoder.ended();
    require(progress.failed || all.ended || progress.consumed == piece.size(),
            "all is taken until the end");
    return !all.failed && !all.ended;
  });
  return all;
}

/// The text in the chunked coding, in chunks of this many bytes, with an extension and a trailer.
std::string encoded(std::string_view body, std::size_t chunk) {
  std::string wire;
  for (; !body.empty(); body.remove_prefix(std::min(chunk, body.size()))) {
    const auto data = body.substr(0, chunk);
    char size[20];
    wire.append(size, std::to_chars(size, size + sizeof size, data.size(), 16).ptr);
    wire.append(" ;x=\"y\"\r\n").append(data).append("\r\n");
  }
  return wire + "000\r\nTrailer: of it\r\n\r\n";
}

}  // namespace

/// The first two bytes choose the pieces and the chunks.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  Input input(bytes, size);
  const std::size_t piece = 1U + input.byte();
  const std::size_t chunk = 1U + input.byte();
  const auto text = input.rest();
  require(decode(text, piece) == decode(text, std::string_view::npos), "pieces make no difference");

  constexpr std::size_t kMostChunks = 1000;  // extensions and trailers have a limit
  if (text.size() / chunk >= kMostChunks) return 0;
  const std::string wire = encoded(text, chunk);
  const Decoded expected{std::string(text), wire.size(), false, true};
  require(decode(wire + "0\r\n\r\nnext", piece) == expected, "decoding undoes the coding");
  return 0;
}
