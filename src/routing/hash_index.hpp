#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <list>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <smg/routing/circuit_breaker.hpp>

namespace smg::routing {

/// Remembers for a while which holders (workers, by serial) have been given a prompt head, by its
/// hash: the last three of each. Lighter than a tree, but knows heads of fixed lengths only.
/// Thread-safe, in shards.
class HashIndex {
 public:
  static constexpr std::size_t kHolders = 3;

  explicit HashIndex(std::chrono::seconds ttl) : ttl_(ttl) {}

  /// The holders whose time is not up at `now`, the last one first.
  [[nodiscard]] std::vector<std::uint32_t> holders(std::uint64_t head, TimePoint now) const;

  void record(std::uint64_t head, std::uint32_t holder, TimePoint now);

  [[nodiscard]] std::size_t size() const;

 private:
  struct Holder {
    std::uint32_t serial = 0;
    TimePoint expires = TimePoint::min();
  };

  struct Entry {
    std::uint64_t head;
    std::array<Holder, kHolders> holders;  // the last one first
  };

  struct Shard {
    mutable std::mutex mutex;
    std::list<Entry> entries;  // the last recorded first
    std::unordered_map<std::uint64_t, std::list<Entry>::iterator> by_head;
  };

  static constexpr std::size_t kShards = 16;
  static constexpr std::size_t kMaxEntriesPerShard = 1U << 16U;

  [[nodiscard]] const Shard& shard_of(std::uint64_t head) const noexcept {
    return shards_[(head >> 48U) % kShards];
  }
  [[nodiscard]] Shard& shard_of(std::uint64_t head) noexcept {
    return shards_[(head >> 48U) % kShards];
  }
  static void forget_expired(Shard& shard, TimePoint now);

  const std::chrono::seconds ttl_;
  std::array<Shard, kShards> shards_;
};

}  // namespace smg::routing
