#include <algorithm>
#include <cstring>

#include <smg/http/chunked.hpp>

namespace smg::http {
namespace {

int hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

ChunkDecoder::Progress ChunkDecoder::decode(std::span<char> piece) noexcept {
  Progress progress;
  while (progress.consumed < piece.size() && !ended()) {
    if (state_ != State::Data) {
      if (!step(piece[progress.consumed])) {
        state_ = State::Failed;
        progress.failed = true;
        return progress;
      }
      ++progress.consumed;
      continue;
    }
    const auto run =
        static_cast<std::size_t>(std::min<std::uint64_t>(left_, piece.size() - progress.consumed));
    if (progress.produced != progress.consumed) {
      std::memmove(piece.data() + progress.produced, piece.data() + progress.consumed, run);
    }
    progress.produced += run;
    progress.consumed += run;
    left_ -= run;
    ++progress.chunks;
    if (left_ == 0) state_ = State::DataCr;
  }
  return progress;
}

bool ChunkDecoder::take_size_digit(char c) noexcept {
  const int digit = hex_value(c);
  if (digit < 0 || left_ >> 60 != 0) return false;
  left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
  state_ = State::Size;
  return true;
}

/// What may stand behind a size: its line end, or an extension with blanks before it (RFC
/// 9112 7.1.1).
bool ChunkDecoder::end_size(char c) noexcept {
  switch (c) {
    case '\r': state_ = State::SizeLf; return true;
    case ';': state_ = State::Extension; return true;
    case ' ':
    case '\t': state_ = State::SizeBlank; return ++overhead_ <= kMaxOverhead;
    default: return false;
  }
}

/// A byte of an extension or trailer, in which CR may only begin the line end.
bool ChunkDecoder::skip(char c, State line_end) noexcept {
  if (c == '\r') {
    state_ = line_end;
    return true;
  }
  const auto byte = static_cast<unsigned char>(c);
  return (byte >= 0x20 || c == '\t') && byte != 0x7F && ++overhead_ <= kMaxOverhead;
}

bool ChunkDecoder::expect(char c, char wanted, State next) noexcept {
  if (c != wanted) return false;
  state_ = next;
  return true;
}

bool ChunkDecoder::step(char c) noexcept {
  switch (state_) {
    case State::SizeStart: left_ = 0; return take_size_digit(c);
    case State::Size: return take_size_digit(c) || (hex_value(c) < 0 && end_size(c));
    case State::SizeBlank: return end_size(c);
    case State::Extension: return skip(c, State::SizeLf);
    case State::SizeLf: return expect(c, '\n', left_ > 0 ? State::Data : State::TrailerStart);
    case State::DataCr: return expect(c, '\r', State::DataLf);
    case State::DataLf: return expect(c, '\n', State::SizeStart);
    case State::TrailerStart: state_ = State::Trailer; return skip(c, State::EndLf);
    case State::Trailer: return skip(c, State::TrailerLf);
    case State::TrailerLf: return expect(c, '\n', State::TrailerStart);
    case State::EndLf: return expect(c, '\n', State::Ended);
    case State::Data:
    case State::Ended:
    case State::Failed: break;
  }
  return false;
}

}  // namespace smg::http
