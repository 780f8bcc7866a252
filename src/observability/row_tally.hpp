#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "observability/per_thread.hpp"

namespace smg::observability {

/// Counts events of `Kinds` kinds for each of many rows that come and go, such as workers: each
/// thread counts in memory of its own, of 8 bytes for a kind and row, made for 64 rows at once.
/// Thread-safe.
template <std::size_t Kinds>
class RowTally {
 public:
  using Totals = std::array<std::int64_t, Kinds>;

  /// A row without events, until it is closed.
  [[nodiscard]] std::size_t open() {
    const std::lock_guard lock(mutex_);
    if (unused_.empty()) {
      for (std::size_t i = kChunkRows; i > 0; --i) unused_.push_back(bases_.size() + i - 1);
      bases_.resize(bases_.size() + kChunkRows);
      chunks_.emplace_back();
    }
    const std::size_t row = unused_.back();
    unused_.pop_back();
    bases_[row] = sums(row);
    return row;
  }

  /// No thread may count in the row any more.
  void close(std::size_t row) {
    const std::lock_guard lock(mutex_);
    unused_.push_back(row);
  }

  /// Takes a lock and allocates when a thread first counts in one of 64 rows.
  void count(std::size_t row, std::size_t kind, std::int64_t events = 1) {
    const std::size_t index = row / kChunkRows;
    const Own* own = own_.find();
    if (own != nullptr && index < own->size() && (*own)[index] != nullptr) {
      (*(*own)[index])[row % kChunkRows][kind].add(events);
    } else {
      count_with_lock(row, kind, events);
    }
  }

  /// Since the row was opened.
  [[nodiscard]] Totals totals(std::size_t row) const {
    const std::lock_guard lock(mutex_);
    Totals totals = sums(row);
    for (std::size_t kind = 0; kind < Kinds; ++kind) totals[kind] -= bases_[row][kind];
    return totals;
  }

 private:
  static constexpr std::size_t kChunkRows = 64;

  using Chunk = std::array<std::array<OwnNumber<std::int64_t>, Kinds>, kChunkRows>;
  using Own = std::vector<Chunk*>;  ///< of one thread, by row; null where it never counted

  void count_with_lock(std::size_t row, std::size_t kind, std::int64_t events) {
    own_.with_own([&](Own& own) {
      const std::size_t index = row / kChunkRows;
      if (index >= own.size()) own.resize(index + 1);
      if (own[index] == nullptr) own[index] = &add_chunk(index);
      (*own[index])[row % kChunkRows][kind].add(events);
    });
  }

  [[nodiscard]] Chunk& add_chunk(std::size_t index) {
    const std::lock_guard lock(mutex_);
    chunks_[index].push_back(std::make_unique<Chunk>());
    return *chunks_[index].back();
  }

  /// Since the beginning, whatever the row was for.
  [[nodiscard]] Totals sums(std::size_t row) const {
    Totals sums{};
    for (const auto& chunk : chunks_[row / kChunkRows]) {
      const auto& counts = (*chunk)[row % kChunkRows];
      for (std::size_t kind = 0; kind < Kinds; ++kind) sums[kind] += counts[kind].value();
    }
    return sums;
  }

  PerThread<Own> own_;
  mutable std::mutex mutex_;                                 // guards what follows
  std::vector<std::vector<std::unique_ptr<Chunk>>> chunks_;  // by row, one for each thread
  std::vector<Totals> bases_;                                // by row, its sums when it was opened
  std::vector<std::size_t> unused_;
};

}  // namespace smg::observability
