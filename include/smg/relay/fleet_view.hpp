#pragma once

#include <vector>

#include <smg/net/io_thread.hpp>
#include <smg/routing/worker_table.hpp>

namespace smg::relay {

/// Each io thread's own reference to the current worker table: routing reads it without a lock.
class FleetView {
 public:
  explicit FleetView(net::IoThreads& threads)
      : threads_(threads),
        tables_(threads.size(), std::make_shared<const routing::WorkerTable>()) {}

  /// The table as this thread sees it now. On that thread only.
  [[nodiscard]] const routing::WorkerTablePtr& on(const net::IoThread& thread) const noexcept {
    return tables_[thread.index()];
  }

  /// Hands a new table to every thread. Messages keep their order, so a request that arrives after
  /// its sender saw the change finds the change made. From any thread.
  void publish(routing::WorkerTablePtr table) {
    threads_.post_to_all(
        [this, table](const net::IoThread& thread) { tables_[thread.index()] = table; });
  }

 private:
  net::IoThreads& threads_;
  std::vector<routing::WorkerTablePtr> tables_;
};

}  // namespace smg::relay
