#include <smg/routing/load_report.hpp>

namespace smg::routing {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
using Clock = std::chrono::steady_clock;

}  // namespace

void LoadBoard::publish(const LoadReport& report) noexcept {
  const auto before = sequence_.load(kRelaxed);
  sequence_.store(before + 1, kRelaxed);
  std::atomic_thread_fence(std::memory_order_release);
  token_usage_.store(report.token_usage, kRelaxed);
  waiting_requests_.store(report.waiting_requests, kRelaxed);
  waiting_tokens_.store(report.waiting_uncached_tokens, kRelaxed);
  throughput_.store(report.throughput, kRelaxed);
  valid_until_.store(report.valid_until.time_since_epoch().count(), kRelaxed);
  sent_sized_.store(0, kRelaxed);
  sent_tokens_.store(0, kRelaxed);
  sent_unsized_.store(0, kRelaxed);
  sequence_.store(before + 2, std::memory_order_release);
}

std::optional<LoadReport> LoadBoard::report(Clock::time_point now) const noexcept {
  for (;;) {
    const auto before = sequence_.load(std::memory_order_acquire);
    if (before == 0) return std::nullopt;
    const LoadReport read{
        .token_usage = token_usage_.load(kRelaxed),
        .waiting_requests = waiting_requests_.load(kRelaxed),
        .waiting_uncached_tokens = waiting_tokens_.load(kRelaxed),
        .throughput = throughput_.load(kRelaxed),
        .valid_until = Clock::time_point(Clock::duration(valid_until_.load(kRelaxed))),
    };
    std::atomic_thread_fence(std::memory_order_acquire);
    if (before % 2 != 0 || sequence_.load(kRelaxed) != before) continue;
    if (now >= read.valid_until) return std::nullopt;
    return read;
  }
}

void LoadBoard::count_dispatch(std::uint64_t tokens) noexcept {
  if (tokens == 0) {
    sent_unsized_.fetch_add(1, kRelaxed);
  } else {
    sent_sized_.fetch_add(1, kRelaxed);
    sent_tokens_.fetch_add(tokens, kRelaxed);
  }
}

Dispatched LoadBoard::dispatched() const noexcept {
  const auto unsized = sent_unsized_.load(kRelaxed);
  return {sent_sized_.load(kRelaxed) + unsized, sent_tokens_.load(kRelaxed), unsized};
}

}  // namespace smg::routing
