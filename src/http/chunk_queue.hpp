#pragma once

#include <algorithm>
#include <deque>

#include <smg/http/client_exchange.hpp>

namespace smg::http {

/// What a slow client has not taken of its response yet, in chunks.
class ChunkQueue {
 public:
  [[nodiscard]] bool empty() const noexcept { return chunks_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return chunks_.size(); }
  [[nodiscard]] bool full() const noexcept {
    return chunks_.size() >= ClientExchange::kMaxQueuedChunks ||
           bytes_ >= ClientExchange::kMaxQueuedBytes;
  }

  /// A chunk behind the others, to which the caller appends so many bytes. A large one is made so
  /// large that the allocator maps it (from 64 KiB on, see run_daemon.cpp): when the client has
  /// left, the memory is the system's again, and does not lie about in the heap. Pages that are not
  /// written to cost nothing.
  [[nodiscard]] std::string& add(std::size_t bytes) {
    constexpr std::size_t kLarge = 32 * 1024;
    constexpr std::size_t kMapped = 64 * 1024;
    std::string& chunk = chunks_.emplace_back();
    chunk.reserve(bytes < kLarge ? bytes : std::max(bytes, kMapped));
    bytes_ += bytes;
    return chunk;
  }

  /// A chunk, the first one without what has been taken of it.
  [[nodiscard]] std::string_view operator[](std::size_t index) const noexcept {
    const std::string_view chunk = chunks_[index];
    return index == 0 ? chunk.substr(taken_) : chunk;
  }

  /// The client has taken so many bytes. True: a chunk has gone with them.
  bool take(std::size_t bytes) noexcept {
    const std::size_t before = size();
    for (taken_ += bytes; !empty() && taken_ >= chunks_.front().size(); chunks_.pop_front()) {
      taken_ -= chunks_.front().size();
      bytes_ -= chunks_.front().size();
    }
    return size() < before;
  }

  void clear() noexcept {
    chunks_.clear();
    taken_ = bytes_ = 0;
  }

 private:
  std::deque<std::string> chunks_;
  std::size_t taken_ = 0;  // of the first chunk
  std::size_t bytes_ = 0;  // the first chunk counts until it is gone
};

}  // namespace smg::http
