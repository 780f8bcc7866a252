#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>

#include <smg/base/result.hpp>
#include <smg/routing/worker_table.hpp>

namespace smg::routing {

/// A worker chosen for one attempt: counted as in flight, and with a permit of its breaker to be
/// settled.
class Selection {
 public:
  Selection(WorkerPtr worker, CircuitBreaker::Permit permit,
            std::unique_ptr<RequestHold> hold = nullptr)
      : worker_(std::move(worker)), permit_(permit), hold_(std::move(hold)) {
    load_.emplace(*worker_);
  }
  ~Selection() { settle(Outcome::None); }
  Selection(const Selection&) = delete;
  Selection& operator=(const Selection&) = delete;

  [[nodiscard]] Worker& worker() const noexcept { return *worker_; }

  /// The request no longer counts as in flight. Idempotent.
  void release_load() noexcept {
    load_.reset();
    hold_.reset();
  }

  /// Tells the breaker how it went. Only the first call counts; without one it is told nothing.
  void settle(Outcome outcome) {
    if (std::exchange(settled_, true)) return;
    worker_->breaker().record(permit_, outcome, std::chrono::steady_clock::now());
  }

 private:
  WorkerPtr worker_;
  CircuitBreaker::Permit permit_;
  std::optional<LoadGuard> load_;
  std::unique_ptr<RequestHold> hold_;
  bool settled_ = false;
};

/// Whether the worker's own load report rules it out, by the limits that are set for it.
[[nodiscard]] bool is_overloaded(const Worker& worker, TimePoint now) noexcept;

/// Chooses a worker of `pool`: healthy, with a breaker that permits, not overloaded by its own
/// report, and without its serial in `avoid` while there is another (ruling 16); among those the
/// pool's policy decides. A worker that the client names is the only choice, tried before or not.
/// Errors: NoAvailableWorkers, with the time after which asking again may help (ruling 17);
/// WorkersOverloaded, if only their load rules out the last ones, with the time until the next
/// report; InvalidTargetWorker (ruling 23).
[[nodiscard]] Result<std::unique_ptr<Selection>> select_worker(const WorkerTable& table,
                                                               const ModelPool& pool,
                                                               const RoutingRequest& request,
                                                               std::span<const std::uint32_t> avoid,
                                                               TimePoint now);

}  // namespace smg::routing
