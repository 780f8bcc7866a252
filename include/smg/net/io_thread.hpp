#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/io_context.hpp>

#include <smg/net/asio.hpp>
#include <smg/net/deadline_queue.hpp>
#include <smg/net/poller.hpp>
#include <smg/net/resolver.hpp>
#include <smg/net/task_group.hpp>
#include <smg/net/thread.hpp>
#include <smg/net/wake_rate.hpp>

namespace smg::net {

/// One event loop and what belongs to it: Asio's queue of handlers and coroutines, the poller that
/// takes the place of Asio's reactor (docs/architecture.md says why), and the deadlines. All
/// members but `post` and `stop` are used on the loop's own thread (or before it starts).
/// Connections never leave the thread they were given to.
class IoThread {
 public:
  explicit IoThread(unsigned index);
  ~IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  /// The loop that the calling thread runs; nullptr outside of one.
  [[nodiscard]] static IoThread* current() noexcept;

  /// Runs `work` on the loop. Safe from any thread.
  void post(std::function<void()> work);

  [[nodiscard]] Executor executor() noexcept { return context_.get_executor(); }
  [[nodiscard]] Poller& poller() noexcept { return poller_; }
  [[nodiscard]] Resolver& resolver() noexcept { return resolver_; }
  [[nodiscard]] DeadlineQueue& deadlines() noexcept { return deadlines_; }
  [[nodiscard]] unsigned index() const noexcept { return index_; }

  /// Tasks that live as long as the loop; joined by whoever stops it.
  [[nodiscard]] TaskGroup& tasks() noexcept { return tasks_; }

  /// Read buffer shared by everything on this thread: what is in it is valid up to the next
  /// suspension of the coroutine that filled it. Idle connections therefore hold no read buffer at
  /// all.
  [[nodiscard]] std::span<char> scratch() noexcept { return {scratch_.get(), kScratchBytes}; }

  static constexpr std::size_t kScratchBytes = 256 * 1024;

  /// Runs the loop on the calling thread until `stop`.
  void run();
  void stop();

  /// Runs what was posted and not run before `stop`, on the calling thread.
  void run_leftovers();

 private:
  void turn();
  [[nodiscard]] std::chrono::milliseconds until_next_deadline() const;

  unsigned index_;
  asio::io_context context_;
  asio::executor_work_guard<Executor> work_;  ///< without work a context stops
  Poller poller_;
  DeadlineQueue deadlines_;
  WakeRate wake_rate_;
  WakePolicy wake_policy_;
  std::atomic<bool> stopping_{false};
  std::unique_ptr<char[]> scratch_;
  TaskGroup tasks_;
  Resolver resolver_;
};

/// Suspends for `duration`, or until `gate` is opened by somebody else.
[[nodiscard]] Task<> sleep_or_wake(IoThread& thread, Gate& gate, Duration duration);

/// Runs `first` on the loop and waits, on another thread, until the loop has no task left.
void run_until_idle(IoThread& thread, const std::function<void()>& first = [] {});

/// The threads of the process, started together and joined together.
class IoThreads {
 public:
  /// `name` and a number are what the system calls each of them.
  explicit IoThreads(unsigned count, std::string name = "smg-io-");
  ~IoThreads();

  void start();
  /// Stops every loop and joins the threads. Idempotent.
  void stop();

  [[nodiscard]] std::size_t size() const noexcept { return loops_.size(); }
  [[nodiscard]] IoThread& operator[](std::size_t index) noexcept { return *loops_[index]; }

  /// Runs `work(thread)` on every loop.
  void post_to_all(const std::function<void(IoThread&)>& work);

 private:
  const std::string name_;
  std::vector<std::unique_ptr<IoThread>> loops_;
  std::vector<std::thread> threads_;
};

}  // namespace smg::net
