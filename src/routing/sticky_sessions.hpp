#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <smg/routing/policy.hpp>

namespace smg::routing {

/// Where a session that has no available worker is pinned when it gets one: behind the pins it has,
/// so that it returns to the first one, or before them, so that it stays.
enum class PinOrder : std::uint8_t { Behind, Before };

/// Which workers each session is pinned to: up to two URLs, the preferred one first. A session that
/// is idle for too long is forgotten. Thread-safe: sessions are spread over many short locks.
class PinMap {
 public:
  /// `max_idle`: 0: nothing is forgotten but for the bound on the number of sessions.
  explicit PinMap(std::chrono::seconds max_idle) : max_idle_(max_idle) {}

  struct Found {
    Worker* worker = nullptr;  ///< the first pin of the session that is among `eligible`
    bool has_pins = false;

    [[nodiscard]] StickyBranch branch() const noexcept {
      if (worker != nullptr) return StickyBranch::OccupiedHit;
      return has_pins ? StickyBranch::OccupiedMiss : StickyBranch::Vacant;
    }
  };

  /// Counts as use.
  [[nodiscard]] Found find(std::string_view key, std::span<Worker* const> eligible, TimePoint now);

  /// Pins a session for which `find` has just found nothing. Of several that do so at once the
  /// first one wins, and all get its worker.
  Worker* pin(std::string_view key, Worker& chosen, std::span<Worker* const> eligible,
              PinOrder order, TimePoint now);

  /// Pins the session to `chosen` before what it has.
  void move(std::string_view key, const Worker& chosen, TimePoint now);

  [[nodiscard]] std::size_t size() const;

 private:
  using Urls = std::array<std::string, 2>;

  struct Session {
    std::string key;
    Urls urls;
    TimePoint last_use;
  };

  struct Shard {
    mutable std::mutex mutex;
    std::list<Session> sessions;  // the last used first
    std::unordered_map<std::string_view, std::list<Session>::iterator> by_key;
  };

  static constexpr std::size_t kShards = 64;
  static constexpr std::size_t kMaxSessionsPerShard = 1U << 15U;

  [[nodiscard]] Shard& shard_of(std::string_view key) noexcept;
  [[nodiscard]] Session* use(Shard& shard, std::string_view key, TimePoint now);
  Session& use_or_add(Shard& shard, std::string_view key, TimePoint now);
  void forget_idle(Shard& shard, TimePoint now);

  const std::chrono::seconds max_idle_;
  std::array<Shard, kShards> shards_;
};

/// How many requests of each session are in flight at each worker. Thread-safe, sharded like
/// PinMap. Also counts, in Worker::active_keys, the sessions of a worker. A worker that registers
/// again keeps them.
class ActiveSessions {
 public:
  [[nodiscard]] std::uint32_t count(std::string_view key, const Worker& worker) const;

  /// One more, as long as the hold lives; the worker must outlive it.
  [[nodiscard]] static std::unique_ptr<RequestHold> begin(std::shared_ptr<ActiveSessions> sessions,
                                                          std::string_view key, Worker& worker);

 private:
  class Hold;

  struct AtWorker {
    const InFlight* worker;
    std::uint32_t requests;
  };

  struct Shard {
    mutable std::mutex mutex;
    std::unordered_map<std::string, std::vector<AtWorker>> by_key;
  };

  static constexpr std::size_t kShards = 64;

  [[nodiscard]] Shard& shard_of(std::string_view key) noexcept;
  [[nodiscard]] const Shard& shard_of(std::string_view key) const noexcept;
  void add(const std::string& key, Worker& worker);
  void remove(const std::string& key, Worker& worker);

  std::array<Shard, kShards> shards_;
};

}  // namespace smg::routing
