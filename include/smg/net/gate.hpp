#pragma once

#include <functional>
#include <optional>
#include <utility>

#include <smg/net/asio.hpp>

namespace smg::net {

/// A task that is over: for functions that return somebody else's task, or have nothing to wait
/// for.
[[nodiscard]] Task<> completed();

/// An event for one waiting coroutine, on one IoThread. `open()` wakes the waiter, or lets the next
/// `wait()` pass at once; a passed wait closes the gate again.
///
///     while (queue_.full()) co_await gate_.wait();
class Gate {
 public:
  explicit Gate(Executor executor) : executor_(executor) {}
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// Suspends until the gate is open. At most one coroutine may wait at a time.
  [[nodiscard]] Task<> wait();

  /// Opens the gate; the waiter resumes from the event loop, never inside this call.
  void open();

  /// Opens the gate and resumes the waiter inside this call. Only for callers directly below the
  /// event loop: it spares a turn of the loop for every wake-up by a socket.
  void open_and_resume();

  [[nodiscard]] bool has_waiter() const noexcept { return waiter_.has_value(); }

 private:
  using Waiter = asio::async_result<asio::use_awaitable_t<Executor>, void()>::handler_type;

  Executor executor_;
  std::optional<Waiter> waiter_;
  bool open_ = false;
};

/// Lets a pending operation be given up by somebody else: `abort` is what ends it, while it runs.
class AbortSwitch {
 public:
  /// Ends the running operation, and every later one at its start. Idempotent.
  void abort() {
    aborted_ = true;
    if (on_abort_) std::exchange(on_abort_, nullptr)();
  }
  [[nodiscard]] bool aborted() const noexcept { return aborted_; }
  void set(std::function<void()> on_abort) { on_abort_ = std::move(on_abort); }
  void clear() noexcept { on_abort_ = nullptr; }

 private:
  bool aborted_ = false;
  std::function<void()> on_abort_;
};

/// Waits until `gate` is opened, or for `abort`.
[[nodiscard]] Task<> wait_or_abort(Gate& gate, AbortSwitch& abort);

}  // namespace smg::net
