#include <cassert>
#include <exception>

#include <boost/asio/co_spawn.hpp>

#include <smg/net/task_group.hpp>
#include <smg/observability/log.hpp>

namespace smg::net {
namespace {

void report(const std::exception_ptr& failure) noexcept {
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& e) {
    observability::log_error("a task ended with an exception", {{"what", e.what()}});
  } catch (...) {
    observability::log_error("a task ended with an unknown exception", {});
  }
}

}  // namespace

TaskGroup::~TaskGroup() {
  assert(running_ == 0 && "a TaskGroup is joined before it goes");
}

void TaskGroup::spawn(Task<> task) {
  ++running_;
  asio::co_spawn(executor_, std::move(task), [this](const std::exception_ptr& failure) {
    if (failure) report(failure);
    finished();
  });
}

void TaskGroup::finished() noexcept {
  if (--running_ > 0) return;
  if (idle_.has_waiter()) idle_.open();
  if (when_idle_) std::exchange(when_idle_, nullptr)();
}

void TaskGroup::when_idle(std::function<void()> idle) {
  if (running_ == 0) return idle();
  when_idle_ = std::move(idle);
}

Task<> TaskGroup::join() {
  while (running_ > 0) co_await idle_.wait();
}

}  // namespace smg::net
