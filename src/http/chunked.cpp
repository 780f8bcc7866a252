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
        progress.failed = true;
        return progress;
      }
      ++progress.consumed;
      continue;
    }
    const auto run = static_cast<std::size_t>(
        std::min<std::uint64_t>(left_, piece.size() - progress.consumed));
    if (progress.produced != progress.consumed) {
      std::memmove(piece.data() + progress.produced, piece.data() + progress.consumed, run);
    }
    progress.produced += run;
    progress.consumed += run;
    left_ -= run;
    if (left_ == 0) state_ = State::DataCr;
  }
  return progress;
}

bool ChunkDecoder::take_size_digit(char c) noexcept {
  const int digit = hex_value(c);
  if (digit < 0 || left_ >> 60 != 0) return false;
  left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
  return true;
}

bool ChunkDecoder::step(char c) noexcept {
  switch (state_) {
    case State::SizeStart:
      left_ = 0;
      state_ = State::Size;
      return take_size_digit(c);
    case State::Size:
      if (c == '\r') {
        state_ = State::SizeLf;
        return true;
      }
      if (c == ';' || c == ' ' || c == '\t') {
        state_ = State::Extension;
        return true;
      }
      return take_size_digit(c);
    case State::Extension:
      if (c == '\r') {
        state_ = State::SizeLf;
        return true;
      }
      return c != '\n' && ++overhead_ <= kMaxOverhead;
    case State::SizeLf:
      state_ = left_ > 0 ? State::Data : State::TrailerStart;
      return c == '\n';
    case State::DataCr: state_ = State::DataLf; return c == '\r';
    case State::DataLf: state_ = State::SizeStart; return c == '\n';
    case State::TrailerStart:
      state_ = c == '\r' ? State::EndLf : State::Trailer;
      return c != '\n' && ++overhead_ <= kMaxOverhead;
    case State::Trailer:
      if (c == '\r') {
        state_ = State::TrailerLf;
        return true;
      }
      return c != '\n' && ++overhead_ <= kMaxOverhead;
    case State::TrailerLf: state_ = State::TrailerStart; return c == '\n';
    case State::EndLf: state_ = State::Ended; return c == '\n';
    case State::Data:
    case State::Ended: break;
  }
  return false;
}

}  // namespace smg::http
