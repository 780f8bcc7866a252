#pragma once

#include <string>
#include <string_view>

namespace smg::control {

/// Cuts a stream into lines, of which it keeps at most one unfinished one.
class LineSplitter {
 public:
  explicit LineSplitter(std::size_t longest) : longest_(longest) {}

  enum class Outcome { Taken, Stopped, TooLong };

  /// Calls `take(line)` for each line that ends in `piece`, blank ones left out, until it returns
  /// false. TooLong: a line has more than `longest` bytes; nothing can follow.
  template <class Take>
  [[nodiscard]] Outcome feed(std::string_view piece, Take&& take) {
    while (!piece.empty()) {
      const auto end = piece.find('\n');
      const auto part = piece.substr(0, end);
      if (part.size() > longest_ - kept_.size()) return Outcome::TooLong;
      if (end == std::string_view::npos) {
        kept_.append(part);
        return Outcome::Taken;
      }
      piece.remove_prefix(end + 1);
      const bool more = kept_.empty() ? give(part, take) : give_kept(part, take);
      if (!more) return Outcome::Stopped;
    }
    return Outcome::Taken;
  }

 private:
  template <class Take>
  static bool give(std::string_view line, Take& take) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line.empty() || take(line);
  }

  template <class Take>
  bool give_kept(std::string_view part, Take& take) {
    std::string line;
    line.swap(kept_);
    line.append(part);
    return give(line, take);
  }

  const std::size_t longest_;
  std::string kept_;
};

}  // namespace smg::control
