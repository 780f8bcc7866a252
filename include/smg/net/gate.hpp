#pragma once

#include <optional>

#include <smg/net/asio.hpp>

namespace smg::net {

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

}  // namespace smg::net
