#include <algorithm>
#include <cerrno>
#include <system_error>

#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <smg/net/poller.hpp>

namespace smg::net {

Poller::Poller()
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)), wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  epoll_event edge{};
  edge.events = EPOLLIN | EPOLLET;
  if (epoll_ < 0 || wake_ < 0 || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &edge) != 0) {
    const int why = errno;
    if (wake_ >= 0) ::close(wake_);
    if (epoll_ >= 0) ::close(epoll_);
    throw std::system_error(why, std::generic_category(), "cannot set up an event loop");
  }
}

Poller::~Poller() {
  ::close(wake_);
  ::close(epoll_);
}

bool Poller::add(int descriptor, std::uint32_t events, Watched& watched) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &watched;
  return ::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

void Poller::remove(int descriptor, const Watched& watched) noexcept {
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr);
  forget(watched);
}

void Poller::forget(const Watched& watched) noexcept {
  for (std::size_t i = next_; i < end_; ++i) {
    if (batch_[i].data.ptr == &watched) batch_[i].data.ptr = nullptr;
  }
  std::replace(due_.begin(), due_.end(), const_cast<Watched*>(&watched),
               static_cast<Watched*>(nullptr));
  std::erase(deferred_, &watched);
}

bool Poller::has_news_of(const Watched& watched) const noexcept {
  // A full batch may have left some out.
  return end_ == kBatch ||
         std::any_of(batch_.begin() + next_, batch_.begin() + end_,
                     [&](const epoll_event& event) { return event.data.ptr == &watched; });
}

void Poller::defer(Watched& watched) {
  deferred_.push_back(&watched);
}

std::size_t Poller::poll(std::chrono::milliseconds timeout) {
  // What an exception left over comes first.
  if (next_ == end_ && due_.empty()) {
    if (!deferred_.empty()) timeout = {};
    const bool gather = timeout.count() != 0 && moderation_.more_expected();
    const int count = gather ? moderated_wait(timeout) : wait(timeout);
    next_ = 0;
    end_ = count > 0 ? static_cast<std::size_t>(count) : 0;
    due_.swap(deferred_);
  }
  const std::size_t events = end_ - next_;
  tell_batch();
  tell_deferred();
  return events;
}

int Poller::wait(std::chrono::milliseconds timeout) noexcept {
  const int count = ::epoll_wait(epoll_, batch_.data(), static_cast<int>(kBatch),
                                 static_cast<int>(timeout.count()));
  looked_at_ = Clock::now();
  return count;
}

int Poller::moderated_wait(std::chrono::milliseconds timeout) noexcept {
  auto since = Clock::now();
  if (const auto pause = moderation_.pause_before_wait(since); pause > Duration::zero()) {
    const timespec length{0, std::chrono::nanoseconds(pause).count()};
    ::nanosleep(&length, nullptr);
    since = Clock::now();
  }
  const int count = wait(timeout);
  moderation_.woken(since, looked_at_);
  return count;
}

void Poller::tell_batch() {
  while (next_ < end_) {
    const epoll_event& event = batch_[next_++];
    // The wake-up has no watcher: that it ended the wait is all it does.
    if (event.data.ptr == nullptr) continue;
    static_cast<Watched*>(event.data.ptr)->on_events(event.events);
  }
}

void Poller::tell_deferred() {
  while (!due_.empty()) {
    Watched* const watched = due_.back();
    due_.pop_back();
    if (watched != nullptr) watched->on_events(0);
  }
}

void Poller::wake() noexcept {
  if (woken_.exchange(true)) return;
  const std::uint64_t one = 1;
  // The counter may be full, which is an edge as well: the result says nothing.
  static_cast<void>(!::write(wake_, &one, sizeof one));
}

}  // namespace smg::net
