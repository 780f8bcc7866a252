#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include <smg/base/body_buffer.hpp>

namespace smg {

BodyBuffer& BodyBuffer::operator=(BodyBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

BodyBuffer::~BodyBuffer() {
  std::free(data_);
}

void BodyBuffer::reserve_behind(std::size_t spare) {
  const std::size_t wanted = size_ + spare;
  if (wanted <= capacity_) return;
  const std::size_t grown = std::max(wanted, capacity_ * 2);
  // realloc moves the pages of a large block instead of copying it.
  void* moved = std::realloc(data_, grown);
  if (moved == nullptr) throw std::bad_alloc();
  data_ = static_cast<char*>(moved);
  capacity_ = grown;
}

std::span<char> BodyBuffer::prepare(std::size_t least) {
  reserve_behind(least);
  return {data_ + size_, capacity_ - size_};
}

void BodyBuffer::append(std::string_view bytes) {
  const auto room = prepare(bytes.size());
  if (!bytes.empty()) std::memcpy(room.data(), bytes.data(), bytes.size());
  commit(bytes.size());
}

void BodyBuffer::release() noexcept {
  std::free(data_);
  data_ = nullptr;
  size_ = capacity_ = 0;
}

}  // namespace smg
