#include <boost/asio/post.hpp>

#include <smg/net/gate.hpp>

namespace smg::net {

Task<> completed() {
  co_return;
}

// Not a coroutine: each has a frame of its own, and nearly every request waits at gates.
Task<> Gate::wait() {
  if (std::exchange(open_, false)) return completed();
  asio::use_awaitable_t<Executor> token;
  auto store = [this](Waiter waiter) { waiter_.emplace(std::move(waiter)); };
  return asio::async_initiate<asio::use_awaitable_t<Executor>, void()>(store, token);
}

void Gate::open() {
  if (!waiter_) {
    open_ = true;
    return;
  }
  Waiter waiter = std::move(*waiter_);
  waiter_.reset();
  asio::post(executor_, std::move(waiter));
}

void Gate::open_and_resume() {
  if (!waiter_) {
    open_ = true;
    return;
  }
  Waiter waiter = std::move(*waiter_);
  waiter_.reset();
  std::move(waiter)();
}

Task<> wait_or_abort(Gate& gate, AbortSwitch& abort) {
  if (abort.aborted()) co_return;
  abort.set([&gate] { gate.open(); });
  co_await gate.wait();
  abort.clear();
}

}  // namespace smg::net
