#include "gateway/inflight_ages.hpp"

#include <algorithm>

namespace smg::gateway {
namespace {

/// As often as the reference samples.
constexpr std::chrono::seconds kInterval{20};

}  // namespace

struct InflightAges::Thread {
  explicit Thread(net::IoThread& t) : look(t.deadlines(), [this, &t] { sample(t); }) {}

  void sample(net::IoThread& thread) {
    Counts counts{};
    const auto now = thread.deadlines().now();
    for (const Entry* entry = first; entry != nullptr; entry = entry->next_) {
      count(counts, std::chrono::duration_cast<std::chrono::seconds>(now - entry->started_));
    }
    for (std::size_t i = 0; i < kBuckets; ++i) {
      shown[i].store(counts[i], std::memory_order_relaxed);
    }
    // Once more behind the last request, for its end to be seen.
    if (first != nullptr) look.arm(kInterval);
  }

  Entry* first = nullptr;
  net::Deadline look;
  std::array<std::atomic<std::uint64_t>, kBuckets> shown{};
};

InflightAges::InflightAges(net::IoThreads& threads) {
  for (std::size_t i = 0; i < threads.size(); ++i) {
    threads_.push_back(std::make_unique<Thread>(threads[i]));
  }
}

InflightAges::~InflightAges() = default;

InflightAges::Entry::Entry(InflightAges& ages, net::IoThread& thread, net::TimePoint started)
    : started_(started) {
  Thread& own = *ages.threads_[thread.index()];
  head_ = &own.first;
  next_ = std::exchange(own.first, this);
  if (next_ != nullptr) next_->previous_ = this;
  if (!own.look.armed()) own.look.arm(kInterval);
}

InflightAges::Entry::~Entry() {
  (previous_ != nullptr ? previous_->next_ : *head_) = next_;
  if (next_ != nullptr) next_->previous_ = previous_;
}

void InflightAges::show(observability::Metrics& metrics) const {
  Counts sums{};
  for (const auto& thread : threads_) {
    for (std::size_t i = 0; i < kBuckets; ++i) {
      sums[i] += thread->shown[i].load(std::memory_order_relaxed);
    }
  }
  metrics.show_inflight_ages(sums);
}

void InflightAges::count(Counts& counts, std::chrono::seconds age) noexcept {
  const auto& bounds = observability::kInflightAgeBounds;
  const auto bound = std::lower_bound(std::begin(bounds), std::end(bounds), age.count());
  ++counts[static_cast<std::size_t>(bound - std::begin(bounds))];
}

}  // namespace smg::gateway
