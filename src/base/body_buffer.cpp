#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include <smg/base/body_buffer.hpp>

namespace smg {
namespace {

/// Memory of large bodies that are gone, kept by each thread for the next ones: to have fresh pages
/// of the system costs more than all else that is done with a body of this size.
class SpareBlocks {
 public:
  struct Block {
    char* data = nullptr;
    std::size_t capacity = 0;
  };

  SpareBlocks() = default;
  SpareBlocks(const SpareBlocks&) = delete;
  SpareBlocks& operator=(const SpareBlocks&) = delete;
  ~SpareBlocks() {
    while (count_ > 0) std::free(blocks_[--count_].data);
    bytes_ = kMostBytes;  // what is freed later still is not kept
  }

  /// The block that was kept last and is large enough, or none.
  [[nodiscard]] Block take(std::size_t least) noexcept {
    for (std::size_t i = count_; i-- > 0;) {
      if (blocks_[i].capacity < least) continue;
      const Block found = blocks_[i];
      std::copy(&blocks_[i + 1], &blocks_[count_], &blocks_[i]);
      --count_;
      bytes_ -= found.capacity;
      return found;
    }
    return {};
  }

  /// False: there is enough.
  [[nodiscard]] bool keep(const Block& block) noexcept {
    if (block.capacity > kMostBytes - bytes_) return false;
    blocks_[count_++] = block;
    bytes_ += block.capacity;
    return true;
  }

  /// Smaller ones come from the heap, where they cost little.
  static constexpr std::size_t kSmallest = 64 * 1024;

 private:
  static constexpr std::size_t kMostBytes = 1024 * 1024;

  std::array<Block, kMostBytes / kSmallest> blocks_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

thread_local SpareBlocks spare_blocks;

}  // namespace

BodyBuffer& BodyBuffer::operator=(BodyBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

BodyBuffer::~BodyBuffer() {
  release();
}

void BodyBuffer::reserve_behind(std::size_t spare) {
  const std::size_t wanted = size_ + spare;
  if (wanted <= capacity_) return;
  if (data_ == nullptr && wanted >= SpareBlocks::kSmallest) {
    const auto [data, capacity] = spare_blocks.take(wanted);
    data_ = data;
    capacity_ = capacity;
    if (data_ != nullptr) return;
  }
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
  const bool is_large = capacity_ >= SpareBlocks::kSmallest;
  if (!is_large || !spare_blocks.keep({data_, capacity_})) std::free(data_);
  data_ = nullptr;
  size_ = capacity_ = 0;
}

}  // namespace smg
