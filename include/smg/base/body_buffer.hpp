#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace smg {

/// A growing body of bytes that are read into place: no zeroing, and growth moves pages, not bytes,
/// once it is large. Freed memory of that size goes back to the system at once, but for 1 MiB that
/// each thread keeps for the next bodies.
class BodyBuffer {
 public:
  BodyBuffer() = default;
  BodyBuffer(BodyBuffer&& other) noexcept { *this = std::move(other); }
  BodyBuffer& operator=(BodyBuffer&& other) noexcept;
  ~BodyBuffer();

  /// Room for at least `least` further bytes, behind those that are there. Throws std::bad_alloc.
  [[nodiscard]] std::span<char> prepare(std::size_t least);

  /// The room that is left, or some if none is. Throws std::bad_alloc.
  [[nodiscard]] std::span<char> prepare_some() { return prepare(capacity_ > size_ ? 1 : kSome); }

  /// The first `count` bytes of the prepared room now belong to the body.
  void commit(std::size_t count) noexcept { size_ += count; }

  void append(std::string_view bytes);

  /// Makes `capacity() - size()` at least `spare`. Throws std::bad_alloc.
  void reserve_behind(std::size_t spare);

  /// Gives the memory back.
  void release() noexcept;

  [[nodiscard]] std::string_view view() const noexcept { return {data_, size_}; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

 private:
  static constexpr std::size_t kSome = 16 * 1024;

  char* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
};

}  // namespace smg
