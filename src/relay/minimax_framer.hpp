#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace smg::relay::minimax {

/// One frame of an event stream: its lines up to and with the empty one.
struct Frame {
  std::size_t size = 0;   ///< in bytes, with all line ends
  std::size_t lines = 0;  ///< that are not empty
  bool has_data = false;  ///< a line begins with `data:`
  std::string_view line;  ///< the first line, without its end
};

/// Finds frames in a stream that arrives in pieces. Lines end with LF, CRLF or CR (WHATWG HTML
/// 9.2.6), and an empty one ends the frame. Each byte is looked at once.
class SseFramer {
 public:
  /// Readable bytes that follow every byte of front(), for a parser that reads ahead.
  static constexpr std::size_t kPadding = 64;

  enum class Found : std::uint8_t {
    Nothing,       ///< more bytes are needed
    Frame,         ///< frame() tells
    LateLineFeed,  ///< one byte: the LF of a CRLF whose CR has ended the frame before
    Oversized,     ///< front() begins with a frame of more than `most_bytes`
  };

  /// `most_bytes`: the longest frame, not counting the ends of its last line and of the empty one.
  explicit SseFramer(std::size_t most_bytes) noexcept : most_bytes_(most_bytes) {}

  /// Views of the bytes before become invalid.
  void append(std::string_view bytes);

  /// What is at the front. What it found last must have been taken.
  [[nodiscard]] Found find();

  /// Valid until the next append().
  [[nodiscard]] const Frame& frame() const noexcept { return frame_; }

  /// All bytes that have not been taken.
  [[nodiscard]] std::string_view front() const noexcept {
    return std::string_view{input_}.substr(begin_);
  }

  /// Takes bytes from the front. Other bytes than those found may be taken only if find() is not
  /// called again.
  void take(std::size_t bytes) noexcept { begin_ += bytes; }

 private:
  void compact();
  void end_line(std::size_t end);
  [[nodiscard]] Found end_frame();

  std::size_t most_bytes_;
  std::string input_;
  Frame frame_;

  // Positions in input_.
  std::size_t begin_ = 0;       // the first byte not taken, and of the frame in arrival
  std::size_t scan_ = 0;        // the first byte not looked at
  std::size_t line_start_ = 0;  // of the line in arrival
  std::size_t first_end_ = 0;   // end of the first line
  std::size_t last_end_ = 0;    // end of the last line that is not empty

  std::size_t lines_ = 0;
  bool has_data_ = false;
  bool after_cr_ = false;  // the byte before scan_ is a CR that was the last one there
};

}  // namespace smg::relay::minimax
