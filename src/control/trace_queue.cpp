#include "control/trace_queue.hpp"

namespace smg::control {

TraceQueue::Put TraceQueue::put(observability::RequestTracePtr trace) {
  const std::size_t more = trace->span_count();
  const std::lock_guard lock(mutex_);
  if (spans_ + more > capacity_) return Put::Full;
  waiting_.push_back(std::move(trace));
  const bool was_ready = spans_ >= batch_;
  spans_ += more;
  return !was_ready && spans_ >= batch_ ? Put::BatchReady : Put::Queued;
}

std::vector<observability::RequestTracePtr> TraceQueue::take() {
  std::vector<observability::RequestTracePtr> taken;
  std::size_t spans = 0;
  const std::lock_guard lock(mutex_);
  while (!waiting_.empty() && spans < batch_) {
    spans += waiting_.front()->span_count();
    taken.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  spans_ -= spans;
  return taken;
}

}  // namespace smg::control
