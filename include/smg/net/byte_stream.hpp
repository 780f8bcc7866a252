#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>

#include <sys/uio.h>

namespace smg::net {

class Pipe;

/// What one non-blocking read or write came to.
struct IoResult {
  enum class Status : std::uint8_t {
    Done,        ///< `bytes` were moved
    WouldBlock,  ///< none now; ask for readiness
    End,         ///< the peer sent its last byte (reads only)
    Failed,      ///< `error` is an errno value
  };
  Status status;
  std::size_t bytes = 0;
  int error = 0;
};

/// Told about readiness, on the stream's IoThread and directly below its event loop.
class StreamObserver {
 public:
  virtual void on_readable() = 0;
  virtual void on_writable() = 0;

 protected:
  ~StreamObserver() = default;
};

/// A connected byte stream, plain or TLS, that never blocks and owns no buffer: readiness is
/// announced, and whoever is told reads into memory of its own choice. Lives on one IoThread.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  /// At most one observer; nullptr for none. Not called back inside any method of the stream.
  virtual void observe(StreamObserver* observer) noexcept = 0;

  [[nodiscard]] virtual IoResult read(std::span<char> into) noexcept = 0;
  [[nodiscard]] virtual IoResult write(std::span<const iovec> from) noexcept = 0;

  /// Whether bytes can pass through a pipe, uncopied: the three methods below.
  [[nodiscard]] virtual bool can_splice() const noexcept { return false; }

  /// Moves up to `most` bytes into an empty pipe, or `bytes` bytes out of one.
  [[nodiscard]] virtual IoResult splice_into(Pipe& /*pipe*/, std::size_t /*most*/) noexcept {
    return {IoResult::Status::Failed, 0, ENOTSUP};
  }
  [[nodiscard]] virtual IoResult splice_from(Pipe& /*pipe*/, std::size_t /*bytes*/) noexcept {
    return {IoResult::Status::Failed, 0, ENOTSUP};
  }

  /// Writes what is to leave in one packet with the spliced bytes behind it.
  [[nodiscard]] virtual IoResult write_before_splice(std::span<const iovec> from) noexcept {
    return write(from);
  }

  /// Asks for one `on_readable()` as soon as a read would not block. Idempotent until it is called.
  virtual void await_readable() = 0;
  virtual void await_writable() = 0;

  /// Asks for one `on_readable()` when the peer has sent its last byte or the stream fails, even
  /// while unread bytes stand before that. Idempotent.
  virtual void await_end() = 0;

  /// Whether nothing at all has come for a reader: no byte, no end, no failure. Asks the kernel,
  /// which knows more than was announced.
  [[nodiscard]] virtual bool quiet() noexcept = 0;

  /// As `quiet`, but of what the kernel told at the beginning of the loop's present turn, if that
  /// costs less.
  [[nodiscard]] virtual bool was_quiet() noexcept { return quiet(); }

  /// Whether the peer has sent its last byte, or the stream has failed, as far as was announced and
  /// whatever has been read.
  [[nodiscard]] virtual bool peer_ended() noexcept = 0;

  /// Bytes that were written have not reached the peer's system yet.
  [[nodiscard]] virtual bool has_undelivered() noexcept = 0;

  /// Sends the peer the end of our bytes; reading goes on.
  virtual void shutdown_write() noexcept = 0;
  virtual void close() noexcept = 0;

  /// Makes the coming close a reset, so that the peer cannot take our bytes for complete.
  virtual void reset_on_close() noexcept = 0;

  /// Gives up the descriptor, with nothing pending, so that another thread can take it over; -1 if
  /// the stream cannot move.
  [[nodiscard]] virtual int release() noexcept = 0;
};

}  // namespace smg::net
