#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace smg::http {

/// Takes the chunked transfer coding off a body (RFC 9112 7.1), piece by piece and in place.
/// Extensions and trailers are checked for their form and dropped. Strict: every part ends with
/// CRLF.
class ChunkDecoder {
 public:
  struct Progress {
    std::size_t produced = 0;  ///< body bytes, now at the front of the piece
    std::size_t consumed = 0;  ///< bytes of the piece that belonged to the body's coding
    std::size_t chunks = 0;    ///< chunks, or parts of one, that the body bytes came in
    bool failed = false;       ///< the coding is broken; nothing more can be made of the connection
  };

  /// Decodes `piece` where it lies: the body bytes are moved to its front. Stops behind the body's
  /// end.
  [[nodiscard]] Progress decode(std::span<char> piece) noexcept;

  /// The last chunk and its trailers have been seen.
  [[nodiscard]] bool ended() const noexcept { return state_ == State::Ended; }

  /// Chunk bytes still to come before the next framing.
  [[nodiscard]] std::uint64_t chunk_remaining() const noexcept {
    return state_ == State::Data ? left_ : 0;
  }

 private:
  enum class State : std::uint8_t {
    SizeStart,
    Size,
    SizeBlank,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    TrailerStart,
    Trailer,
    TrailerLf,
    EndLf,
    Ended,
    Failed,
  };

  [[nodiscard]] bool step(char c) noexcept;
  [[nodiscard]] bool take_size_digit(char c) noexcept;
  [[nodiscard]] bool end_size(char c) noexcept;
  [[nodiscard]] bool skip(char c, State line_end) noexcept;
  [[nodiscard]] bool expect(char c, char wanted, State next) noexcept;

  /// Bytes of extensions and trailers that one body may have in all.
  static constexpr std::uint32_t kMaxOverhead = 16 * 1024;

  State state_ = State::SizeStart;
  std::uint64_t left_ = 0;
  std::uint32_t overhead_ = 0;
};

}  // namespace smg::http
