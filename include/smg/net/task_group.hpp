#pragma once

#include <cstddef>
#include <functional>

#include <smg/net/gate.hpp>

namespace smg::net {

/// Coroutines that run beside their owner and are waited for before it goes: no work without an
/// owner. On one IoThread. The owner stops its tasks by the objects they work on, then joins.
class TaskGroup {
 public:
  explicit TaskGroup(Executor executor) : executor_(executor), idle_(executor) {}
  ~TaskGroup();
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  /// Starts a coroutine; it runs up to its first suspension inside this call's next loop turn. An
  /// exception that leaves it is logged as an internal error and goes no further.
  void spawn(Task<> task);

  /// Returns when no task is left. For one waiter at a time.
  [[nodiscard]] Task<> join();

  /// Calls `idle` once no task is left: now, or behind the last one's end. Replaces an earlier
  /// callback.
  void when_idle(std::function<void()> idle);

  [[nodiscard]] std::size_t size() const noexcept { return running_; }

 private:
  void finished() noexcept;

  Executor executor_;
  Gate idle_;
  std::function<void()> when_idle_;
  std::size_t running_ = 0;
};

}  // namespace smg::net
