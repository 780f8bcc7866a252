#include <future>

#include <time.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include <smg/net/io_thread.hpp>
#include <smg/observability/log.hpp>

namespace smg::net {
namespace {

thread_local IoThread* current_loop = nullptr;

/// Handlers run between two looks at the sockets: bounds how long a chain of them keeps those
/// waiting.
constexpr int kHandlersPerTurn = 256;

/// The time of the system's last tick, which comes for a fraction of what the exact one costs.
TimePoint coarse_now() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return TimePoint(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

/// Deadlines are kept this late, each of them: a tick at least, since that is how far the clock
/// they are set by may lag behind. That this clock goes in steps is what makes a burst of them cost
/// few wake-ups.
Duration deadline_grid() noexcept {
  timespec tick{};
  ::clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
  return std::max<Duration>(std::chrono::milliseconds(4), std::chrono::nanoseconds(tick.tv_nsec));
}

const Duration kDeadlineGrid = deadline_grid();

}  // namespace

IoThread::IoThread(unsigned index)
    : index_(index),
      context_(1),
      work_(asio::make_work_guard(context_)),
      deadlines_(&coarse_now),
      scratch_(std::make_unique_for_overwrite<char[]>(kScratchBytes)),
      tasks_(context_.get_executor()),
      resolver_(*this) {}

IoThread::~IoThread() = default;

void IoThread::post(std::function<void()> work) {
  asio::post(context_, std::move(work));
  if (current_loop != this) poller_.wake();
}

IoThread* IoThread::current() noexcept {
  return current_loop;
}

void IoThread::run() {
  current_loop = this;
  while (!stopping_) {
    try {
      turn();
    } catch (const std::exception& e) {
      // Every flow reports its own failures; what arrives here is a bug, and no reason to stop
      // serving.
      observability::log_error("an event handler threw", {{"what", e.what()}});
    }
  }
  current_loop = nullptr;
}

void IoThread::turn() {
  poller_.expect_wake();
  int handlers = 0;
  while (handlers < kHandlersPerTurn && context_.poll_one() > 0) ++handlers;
  const bool more = handlers == kHandlersPerTurn;
  const std::size_t events =
      poller_.poll(more ? std::chrono::milliseconds(0) : until_next_deadline());
  const TimePoint now = deadlines_.now();
  wake_policy_.wait_for_turn(wake_rate_.turned(events, now));
  deadlines_.advance(now - kDeadlineGrid);
}

std::chrono::milliseconds IoThread::until_next_deadline() const {
  using std::chrono::milliseconds;
  if (deadlines_.empty()) return milliseconds(-1);
  const auto left = deadlines_.earliest() + kDeadlineGrid - deadlines_.now();
  // At most a day, for the poller takes no more than an int.
  return std::clamp(std::chrono::ceil<milliseconds>(left), milliseconds(0),
                    milliseconds(86'400'000));
}

void IoThread::stop() {
  stopping_ = true;
  poller_.wake();
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

void run_until_idle(IoThread& thread, const std::function<void()>& first) {
  std::promise<void> idle;
  thread.post([&] {
    first();
    thread.tasks().when_idle([&idle] { idle.set_value(); });
  });
  idle.get_future().wait();
}

IoThreads::IoThreads(unsigned count, std::string name) : name_(std::move(name)) {
  for (unsigned i = 0; i < count; ++i) loops_.push_back(std::make_unique<IoThread>(i));
}

IoThreads::~IoThreads() {
  stop();
}

void IoThreads::start() {
  for (auto& loop : loops_) {
    threads_.push_back(
        start_thread(name_ + std::to_string(loop->index()), [&loop = *loop] { loop.run(); }));
  }
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
