#pragma once

#include <functional>
#include <string>
#include <thread>

namespace smg::net {

/// Starts a thread of the process: named (at most 15 characters) for who looks at it from outside,
/// and with all signals blocked, for they belong to the main thread.
[[nodiscard]] std::thread start_thread(const std::string& name, std::function<void()> run);

/// How the system's scheduler takes the calling thread when it wakes and every processor is in use:
/// as one that pushes another aside, or as one that waits for its turn (SCHED_BATCH). A thread that
/// somebody gave another policy keeps it, and where the system refuses, nothing changes.
class WakePolicy {
 public:
  void wait_for_turn(bool wait) noexcept {
    if (wait != waits_ && !refused_) change(wait);
  }

 private:
  void change(bool wait) noexcept;

  bool waits_ = false;
  bool refused_ = false;
};

}  // namespace smg::net
