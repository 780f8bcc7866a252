#pragma once

#include <cstddef>
#include <memory>

namespace smg::net {

/// A kernel pipe through which a large body passes from one socket to another without being copied
/// into the process and out again (splice(2)).
class Pipe {
 public:
  /// What a pipe holds, in bytes: the most that the kernel grants without privilege.
  static constexpr std::size_t kBytes = 1024 * 1024;

  /// nullptr when the kernel does not grant it: descriptors, or the pipe memory of the user, ran
  /// out.
  [[nodiscard]] static std::unique_ptr<Pipe> open() noexcept;
  ~Pipe();
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  [[nodiscard]] int read_end() const noexcept { return read_end_; }
  [[nodiscard]] int write_end() const noexcept { return write_end_; }

 private:
  Pipe(int read_end, int write_end) noexcept : read_end_(read_end), write_end_(write_end) {}

  int read_end_;
  int write_end_;
};

}  // namespace smg::net
