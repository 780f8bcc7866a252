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

  /// Hands a new table to every thread, and takes it over at once on the calling one. Messages to a
  /// thread keep their order, so a request that arrives after its sender saw the change finds it
  /// made.
  void publish(const routing::WorkerTablePtr& table) {
    for (std::size_t i = 0; i < threads_.size(); ++i) {
      if (&threads_[i] == net::IoThread::current()) {
        tables_[i] = table;
      } else {
        threads_[i].post([this, i, table] { tables_[i] = table; });
      }
    }
  }

 private:
  net::IoThreads& threads_;
  std::vector<routing::WorkerTablePtr> tables_;
};

}  // namespace smg::relay
