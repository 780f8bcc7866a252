#include "routing/expected_wait.hpp"

#include <algorithm>

#include "routing/random_number.hpp"

namespace smg::routing {
namespace {

/// What the reporting workers have in common.
struct Peers {
  bool any_report = false;
  double mean_throughput = 0;
};

Peers survey(std::span<Worker* const> workers, const config::LeastLoad& tuning,
             TimePoint now) noexcept {
  Peers peers;
  double sum = 0;
  double count = 0;
  for (const Worker* worker : workers) {
    const auto report = worker->board().report(now);
    if (!report) continue;
    peers.any_report = true;
    if (report->throughput <= 0) continue;
    sum += report->throughput;
    ++count;
  }
  peers.mean_throughput = count > 0 ? sum / count : tuning.default_throughput;
  return peers;
}

/// Seconds.
double reported_wait(const LoadReport& report, const Dispatched& sent,
                     const config::LeastLoad& tuning) noexcept {
  const double mean = tuning.mean_prefill_tokens;
  const double queued = report.waiting_uncached_tokens > 0
                            ? static_cast<double>(report.waiting_uncached_tokens)
                            : static_cast<double>(report.waiting_requests) * mean;
  const double credit = static_cast<double>(sent.tokens) + static_cast<double>(sent.unsized) * mean;
  const double throughput = report.throughput > 0 ? report.throughput : tuning.default_throughput;
  const double usage = std::clamp(report.token_usage, 0.0, 0.999);
  return (queued + credit) / throughput + tuning.kv_pressure_weight * usage / (1 - usage);
}

}  // namespace

Worker* shortest_wait(std::span<Worker* const> workers, const config::LeastLoad& tuning,
                      TimePoint now) noexcept {
  if (workers.size() == 1 && tuning.max_waiting_requests == 0) return workers.front();
  const Peers peers = survey(workers, tuning, now);
  Worker* best = nullptr;
  double best_wait = 0;
  std::uint32_t ties = 0;
  for (Worker* worker : workers) {
    double wait = worker->load();
    if (peers.any_report) {
      if (const auto report = worker->board().report(now)) {
        const auto sent = worker->board().dispatched();
        const auto queue = report->waiting_requests + sent.requests;
        if (tuning.max_waiting_requests > 0 && queue >= tuning.max_waiting_requests) continue;
        wait = reported_wait(*report, sent, tuning);
      } else {
        wait = wait * tuning.mean_prefill_tokens / peers.mean_throughput;
      }
    }
    if (best == nullptr || wait < best_wait) {
      best = worker;
      best_wait = wait;
      ties = 1;
    } else if (wait == best_wait && random_below(++ties) == 0) {
      best = worker;
    }
  }
  return best;
}

}  // namespace smg::routing
