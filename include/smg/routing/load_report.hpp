#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

namespace smg::routing {

/// What a worker says about itself, summed (token usage: averaged) over its ranks.
struct LoadReport {
  double token_usage = 0;  ///< share of the KV cache in use, 0 to 1
  std::uint64_t waiting_requests = 0;
  std::uint64_t waiting_uncached_tokens = 0;  ///< to be prefilled; 0 also when it is not told
  double throughput = 0;                      ///< tokens generated per second; 0: not told
  /// From then on it counts for nothing: three poll intervals after it was made.
  std::chrono::steady_clock::time_point valid_until = std::chrono::steady_clock::time_point::max();
};

/// From these values of its own load report on, inclusively, a worker gets no requests (overload
/// veto, policies_and_workers 2.12). What is not set vetoes nothing.
struct OverloadLimits {
  std::optional<std::uint64_t> waiting_requests;  ///< at least 1
  std::optional<double> token_usage;              ///< above 0, at most 1

  [[nodiscard]] bool any() const noexcept { return waiting_requests || token_usage; }
  [[nodiscard]] bool reached_by(const LoadReport& report) const noexcept {
    return (waiting_requests && report.waiting_requests >= *waiting_requests) ||
           (token_usage && report.token_usage >= *token_usage);
  }
};

/// How a worker's load reports are asked for, and what they may forbid.
struct LoadSettings {
  std::chrono::seconds interval{10};  ///< between two reports
  OverloadLimits overload;
};

/// What was sent to a worker since its last report, which cannot know of it.
struct Dispatched {
  std::uint64_t requests = 0;
  std::uint64_t tokens = 0;   ///< of the requests whose tokens are known
  std::uint64_t unsized = 0;  ///< requests whose tokens are not known
};

/// The last load report of a worker, and what was sent to it since. Reading takes no lock: one
/// writer, the load monitor, and a sequence number by which readers notice that they read in
/// between.
class LoadBoard {
 public:
  /// Replaces the report; what was sent before it is accounted for. One caller at a time.
  void publish(const LoadReport& report) noexcept;

  /// The last report, unless there is none or it is too old at `now`.
  [[nodiscard]] std::optional<LoadReport> report(
      std::chrono::steady_clock::time_point now) const noexcept;

  /// A request was sent; `tokens` of its prompt, or 0 if they are not known.
  void count_dispatch(std::uint64_t tokens) noexcept;

  [[nodiscard]] Dispatched dispatched() const noexcept;

 private:
  std::atomic<std::uint32_t> sequence_{0};  // odd while a report is being written; 0: none yet
  std::atomic<double> token_usage_{0};
  std::atomic<std::uint64_t> waiting_requests_{0};
  std::atomic<std::uint64_t> waiting_tokens_{0};
  std::atomic<double> throughput_{0};
  std::atomic<std::chrono::steady_clock::rep> valid_until_{0};
  alignas(64) std::atomic<std::uint64_t> sent_sized_{0};
  std::atomic<std::uint64_t> sent_tokens_{0};
  std::atomic<std::uint64_t> sent_unsized_{0};
};

}  // namespace smg::routing
