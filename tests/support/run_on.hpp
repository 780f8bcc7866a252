#pragma once

#include <future>
#include <memory>
#include <type_traits>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>

#include <smg/net/io_thread.hpp>

/// Bridges a test's own thread, which blocks, and coroutines on an IoThread.
namespace smg::test {

template <class Body, class Value>
net::Task<> fulfil(std::shared_ptr<Body> body, net::IoThread& thread,
                   std::shared_ptr<std::promise<Value>> result) {
  try {
    if constexpr (std::is_void_v<Value>) {
      co_await (*body)(thread);
      result->set_value();
    } else {
      result->set_value(co_await (*body)(thread));
    }
  } catch (...) {
    result->set_exception(std::current_exception());
  }
}

/// Starts the coroutine `body(thread)` on a running thread; the future gets what it returns.
template <class Body>
[[nodiscard]] auto start_on(net::IoThread& thread, Body body) {
  using Value = typename std::invoke_result_t<Body&, net::IoThread&>::value_type;
  auto result = std::make_shared<std::promise<Value>>();
  auto future = result->get_future();
  auto shared = std::make_shared<Body>(std::move(body));
  thread.post([&thread, shared, result] {
    net::asio::co_spawn(thread.executor(), fulfil(shared, thread, result), net::asio::detached);
  });
  return future;
}

/// Runs the coroutine `body(thread)` on a running thread to its end and returns what it returns.
template <class Body>
auto run_on(net::IoThread& thread, Body body) {
  return start_on(thread, std::move(body)).get();
}

/// Runs a plain function on a running thread and returns what it returns.
template <class Function>
auto call_on(net::IoThread& thread, Function function) {
  using Value = std::invoke_result_t<Function&>;
  auto task = std::make_shared<std::packaged_task<Value()>>(std::move(function));
  auto future = task->get_future();
  thread.post([task] { (*task)(); });
  return future.get();
}

/// Lets a running thread look at its sockets and do all that follows from it: a few turns of its
/// loop, each of which looks anew. (Posted calls would not do: several may run between two looks.)
inline void settle(net::IoThread& thread) {
  constexpr int kTurns = 10;
  struct Look final : net::Watched {
    void on_events(std::uint32_t /*events*/) override {
      // The test may have gone on before `set_value` has returned.
      const auto kept = taken;
      kept->set_value();
    }
    std::shared_ptr<std::promise<void>> taken = std::make_shared<std::promise<void>>();
  };
  for (int turn = 0; turn < kTurns; ++turn) {
    Look look;
    thread.post([&] { thread.poller().defer(look); });
    look.taken->get_future().wait();
  }
}

/// Keeps a running thread from looking at its sockets, from the moment it is made.
class HeldLoop {
 public:
  explicit HeldLoop(net::IoThread& thread) {
    thread.post([ends = ends_] {
      ends->held.set_value();
      ends->released.get_future().wait();
    });
    ends_->held.get_future().wait();
  }
  ~HeldLoop() { release(); }
  HeldLoop(const HeldLoop&) = delete;
  HeldLoop& operator=(const HeldLoop&) = delete;

  void release() {
    if (!std::exchange(is_released_, true)) ends_->released.set_value();
  }

 private:
  struct Ends {
    std::promise<void> held;
    std::promise<void> released;
  };
  std::shared_ptr<Ends> ends_ = std::make_shared<Ends>();
  bool is_released_ = false;
};

/// Lets every deadline of a running thread expire now, whatever time it is set for.
inline void expire_deadlines(net::IoThread& thread) {
  call_on(thread, [&thread] { thread.deadlines().advance(net::TimePoint::max()); });
}

/// Started io threads that stop with the test.
class Loops {
 public:
  explicit Loops(unsigned count = 1) : threads(count) { threads.start(); }

  [[nodiscard]] net::IoThread& operator[](std::size_t index) noexcept { return threads[index]; }

  net::IoThreads threads;
};

}  // namespace smg::test
