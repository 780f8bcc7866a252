#include <pthread.h>
#include <signal.h>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <smg/net/io_thread.hpp>
#include <smg/observability/log.hpp>

namespace smg::net {
namespace {

thread_local IoThread* current_loop = nullptr;

}  // namespace

/// The loop's one timer, set for the earliest deadline, on a grid so that a burst of deadlines
/// costs few wake-ups.
struct IoThread::Timer {
  static constexpr std::chrono::milliseconds kGrid{4};

  asio::basic_waitable_timer<Clock, asio::wait_traits<Clock>, Executor> timer;

  void set(DeadlineQueue& queue, TimePoint when) {
    timer.expires_at(when + kGrid);
    timer.async_wait([&queue](const boost::system::error_code& ec) {
      if (!ec) queue.advance(Clock::now());
    });
  }
};

IoThread::IoThread(unsigned index)
    : index_(index),
      context_(1),
      work_(asio::make_work_guard(context_)),
      timer_(new Timer{decltype(Timer::timer)(context_.get_executor())}),
      scratch_(std::make_unique_for_overwrite<char[]>(kScratchBytes)),
      tasks_(context_.get_executor()) {
  deadlines_.on_earlier([this](TimePoint when) { timer_->set(deadlines_, when); });
}

IoThread::~IoThread() = default;

void IoThread::post(std::function<void()> work) {
  asio::post(context_, std::move(work));
}

IoThread* IoThread::current() noexcept {
  return current_loop;
}

void IoThread::run() {
  current_loop = this;
  for (;;) {
    try {
      context_.run();
      current_loop = nullptr;
      return;
    } catch (const std::exception& e) {
      // Every flow reports its own failures; what arrives here is a bug, and no reason to stop
      // serving.
      observability::log_error("an event handler threw", {{"what", e.what()}});
    }
  }
}

void IoThread::stop() {
  context_.stop();
}

void IoThread::run_leftovers() {
  current_loop = this;
  context_.restart();
  while (context_.poll() > 0) {
  }
  current_loop = nullptr;
}

Task<> sleep_or_wake(IoThread& thread, Gate& gate, Duration duration) {
  Deadline deadline(thread.deadlines(), [&gate] { gate.open_and_resume(); });
  deadline.arm(std::max<Duration>(duration, std::chrono::microseconds(1)));
  co_await gate.wait();
}

IoThreads::IoThreads(unsigned count) {
  for (unsigned i = 0; i < count; ++i) loops_.push_back(std::make_unique<IoThread>(i));
}

IoThreads::~IoThreads() {
  stop();
}

void IoThreads::start() {
  // Signals belong to the main thread.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  for (auto& loop : loops_) {
    threads_.emplace_back([&loop = *loop] { loop.run(); });
    const std::string name = "smg-io-" + std::to_string(loop->index());
    pthread_setname_np(threads_.back().native_handle(), name.c_str());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void IoThreads::stop() {
  for (auto& loop : loops_) loop->stop();
  for (auto& thread : threads_) thread.join();
  threads_.clear();
  // What is left in the loops may own things that live on them: it goes while all of them are
  // there.
  for (auto& loop : loops_) loop->run_leftovers();
}

void IoThreads::post_to_all(const std::function<void(IoThread&)>& work) {
  for (auto& loop : loops_) loop->post([work, &loop = *loop] { work(loop); });
}

}  // namespace smg::net
