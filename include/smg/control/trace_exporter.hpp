#pragma once

#include <chrono>
#include <memory>

#include <smg/config/tracing.hpp>
#include <smg/observability/metrics.hpp>
#include <smg/observability/request_trace.hpp>
#include <smg/upstream/host_pool.hpp>

namespace smg::control {

/// Brings traces to a collector, as OTLP over HTTP in JSON. It has a thread of its own, and takes
/// what it is given without waiting: requests never pay for the collector. What it cannot deliver
/// in time is dropped and counted.
class TraceExporter {
 public:
  /// Without --enable-trace there is no thread, and nothing else may be called but `enabled`.
  /// Arguments must outlive the exporter; the settings have been validated.
  TraceExporter(const config::Tracing& settings, upstream::PoolDirectory& pools,
                observability::Metrics& metrics);
  ~TraceExporter();
  TraceExporter(const TraceExporter&) = delete;
  TraceExporter& operator=(const TraceExporter&) = delete;

  [[nodiscard]] bool enabled() const noexcept { return sender_ != nullptr; }

  void start();

  /// From any thread; not behind `stop`.
  void submit(observability::RequestTracePtr trace) noexcept;

  /// Delivers what waits, for `patience` at most, and ends. Blocks; idempotent.
  void stop(std::chrono::milliseconds patience);

 private:
  class Sender;

  std::unique_ptr<Sender> sender_;
};

}  // namespace smg::control
