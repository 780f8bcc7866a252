#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace smg::relay {

/// Re-slices the deltas of one single-choice chat completion stream as MiniMax's provider contract
/// wants them (the page, "Delta Re-Slicing for MiniMax Models"): text is gathered and leaves in
/// slices of 80 to 160 characters, or as a flush of all that is pending. The concatenated deltas
/// are exactly the worker's. Where chunks of the worker's bytes begin and end makes no difference.
///
/// No sockets and no clock. Input goes in by feed(), idle() and finish(); output is pulled by
/// produce(), piece by piece, so that one large event cannot pile up thousands of slices:
///
///     reslicer.feed(chunk);
///     for (bool more = true; more;) {
///       more = reslicer.produce(out);
///       // hand `out` on, wait for room, clear it
///     }
///
/// The owner runs the clock: when has_pending() and kIdleTime passes without a byte from the
/// worker, idle() is called. Every byte received restarts that time, those of comments too.
///
/// Holds at most the bytes of one unfinished frame (kMostFrameBytes), the text of one event, and
/// what was fed and not yet produced. Feed the next bytes once produce() returned false. Not
/// thread-safe.
class MinimaxReslicer {
 public:
  /// Silence of the worker after which pending text leaves.
  static constexpr std::chrono::milliseconds kIdleTime{250};
  /// What produce() appends at a time, in bytes, unless told otherwise.
  static constexpr std::size_t kOutputBytes = 64 * 1024;
  /// Without its last line end, a frame may have this many bytes. A longer one ends the re-slicing.
  static constexpr std::size_t kMostFrameBytes = 1024 * 1024;

  MinimaxReslicer();
  MinimaxReslicer(MinimaxReslicer&&) noexcept;
  MinimaxReslicer& operator=(MinimaxReslicer&&) noexcept;
  ~MinimaxReslicer();

  /// Takes in bytes of the worker's stream. They are copied.
  void feed(std::string_view bytes);

  /// The worker was silent for kIdleTime: pending text leaves. Bytes of an unfinished frame stay.
  void idle();

  /// The worker's stream is over, cleanly or not: pending text leaves, then an unfinished frame as
  /// it was received. Nothing may be fed afterwards.
  void finish();

  /// Appends to `out` what leaves now: at most `most` bytes (1 or more) and the rest of one
  /// synthesized event. True: more is due now; call again before the next feed().
  [[nodiscard]] bool produce(std::string& out, std::size_t most = kOutputBytes);

  /// Text waits for more, so the idle time counts. Meaningful once produce() returned false.
  [[nodiscard]] bool has_pending() const noexcept;

 private:
  class Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace smg::relay
