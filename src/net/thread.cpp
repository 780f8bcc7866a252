#include <pthread.h>
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

}  // namespace smg::net
