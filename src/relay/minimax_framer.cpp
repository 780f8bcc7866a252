#include "relay/minimax_framer.hpp"

namespace smg::relay::minimax {
namespace {

/// Memory of an empty buffer that is worth keeping.
constexpr std::size_t kKeptCapacity = 16 * 1024;

constexpr bool ends_line(char c) noexcept {
  return c == '\n' || c == '\r';
}

}  // namespace

void SseFramer::append(std::string_view bytes) {
  compact();
  input_.reserve(input_.size() + bytes.size() + kPadding);
  input_.append(bytes);
}

void SseFramer::compact() {
  if (begin_ == 0) return;
  scan_ -= begin_;
  line_start_ -= begin_;
  first_end_ -= begin_;
  last_end_ -= begin_;
  if (begin_ == input_.size() && input_.capacity() > kKeptCapacity) {
    input_ = {};
  } else {
    input_.erase(0, begin_);
  }
  begin_ = 0;
}

SseFramer::Found SseFramer::find() {
  if (after_cr_ && scan_ < input_.size()) {
    after_cr_ = false;
    if (input_[scan_] == '\n') {
      line_start_ = ++scan_;
      if (lines_ == 0) {
        last_end_ = scan_;
        return Found::LateLineFeed;
      }
    }
  }
  while (scan_ < input_.size()) {
    const char c = input_[scan_++];
    if (!ends_line(c)) continue;
    const std::size_t end = scan_ - 1;
    if (c == '\r') {
      after_cr_ = scan_ == input_.size();
      if (!after_cr_ && input_[scan_] == '\n') ++scan_;
    }
    if (end == line_start_) return end_frame();
    end_line(end);
  }
  const std::size_t end = line_start_ == scan_ ? last_end_ : scan_;
  return end - begin_ > most_bytes_ ? Found::Oversized : Found::Nothing;
}

void SseFramer::end_line(std::size_t end) {
  const auto line = std::string_view{input_}.substr(line_start_, end - line_start_);
  if (line.starts_with("data:")) has_data_ = true;
  if (lines_++ == 0) first_end_ = end;
  last_end_ = end;
  line_start_ = scan_;
}

SseFramer::Found SseFramer::end_frame() {
  const auto found = last_end_ - begin_ > most_bytes_ ? Found::Oversized : Found::Frame;
  frame_ = {.size = scan_ - begin_,
            .lines = lines_,
            .has_data = has_data_,
            .line = lines_ == 0 ? std::string_view{} : front().substr(0, first_end_ - begin_)};
  lines_ = 0;
  has_data_ = false;
  line_start_ = last_end_ = scan_;
  return found;
}

}  // namespace smg::relay::minimax
