#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <smg/net/thread.hpp>

namespace smg::net {

std::thread start_thread(const std::string& name, std::function<void()> run) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  std::thread thread(std::move(run));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(thread.native_handle(), name.c_str());
  return thread;
}

void WakePolicy::change(bool wait) noexcept {
  constexpr sched_param kNoPriority{};
  const int from = waits_ ? SCHED_BATCH : SCHED_OTHER;
  refused_ = ::sched_getscheduler(0) != from ||
             ::sched_setscheduler(0, wait ? SCHED_BATCH : SCHED_OTHER, &kNoPriority) != 0;
  if (!refused_) waits_ = wait;
}

}  // namespace smg::net
