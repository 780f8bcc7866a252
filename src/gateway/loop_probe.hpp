#pragma once

#include <memory>

#include <smg/net/io_thread.hpp>
#include <smg/observability/metrics.hpp>

namespace smg::gateway {

/// Asks every io thread's loop, once a second, how long it keeps new work waiting. Runs on a thread
/// beside them, `own`. The metrics outlive the threads.
class LoopProbe {
 public:
  LoopProbe(net::IoThread& own, net::IoThreads& probed, observability::Metrics& metrics);

  /// On `own`, or before it runs.
  void start();

 private:
  void ask();

  net::IoThreads& probed_;
  observability::Metrics& metrics_;
  net::Deadline next_;
  /// For each thread: an answer has not come yet. Shared with the answers.
  std::vector<std::shared_ptr<std::atomic<bool>>> asked_;
};

}  // namespace smg::gateway
