#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

#include <smg/observability/request_trace.hpp>

namespace smg::control {

/// Traces on their way from the threads of requests to the exporter: bounded, so that a collector
/// that is slow or away costs spans and not memory. Thread-safe.
class TraceQueue {
 public:
  enum class Put : std::uint8_t {
    Queued,
    BatchReady,  ///< as Queued, and there is a full batch from now on
    Full,        ///< not taken
  };

  /// Both in spans; a trace has one at least.
  TraceQueue(std::size_t capacity, std::size_t batch) : capacity_(capacity), batch_(batch) {}

  [[nodiscard]] Put put(observability::RequestTracePtr trace);

  /// The oldest traces, up to about one batch of spans; empty: there are none.
  [[nodiscard]] std::vector<observability::RequestTracePtr> take();

 private:
  const std::size_t capacity_;
  const std::size_t batch_;
  std::mutex mutex_;
  std::deque<observability::RequestTracePtr> waiting_;
  std::size_t spans_ = 0;
};

}  // namespace smg::control
