#include <algorithm>
#include <deque>
#include <limits>
#include <mutex>
#include <numeric>

#include "routing/policies.hpp"
#include "routing/prompt_units.hpp"
#include <smg/routing/worker_table.hpp>

namespace smg::routing {
namespace {

using Workers = std::span<Worker* const>;

constexpr std::uint64_t kInitialRange = 4096;
constexpr std::uint64_t kOpenEnd = std::numeric_limits<std::uint64_t>::max();

/// Gives each worker the prompts of one range of sizes, so that long ones do not hold up short
/// ones, and moves the bounds so that all get the same amount of work. For prefill workers.
class BucketPolicy final : public Policy {
 public:
  BucketPolicy(const config::Bucket& tuning, const config::CacheAware& balance)
      : interval_(tuning.adjust_interval),
        abs_threshold_(static_cast<double>(balance.balance_abs_threshold)),
        rel_threshold_(balance.balance_rel_threshold) {}

  Worker* pick(Workers eligible, const RoutingRequest& request) override {
    const std::uint64_t size =
        request.tokens.empty() ? count_characters(request.text) : request.tokens.size();
    const std::lock_guard lock(mutex_);
    follow_fleet(request.pool != nullptr ? Workers(request.pool->workers) : eligible);
    forget_old(request.now);
    adjust(request.now);
    Worker* const chosen =
        nearest_eligible(is_unbalanced() ? lightest() : bucket_of(size), eligible);
    record(*chosen, size, request.now);
    return chosen;
  }

  std::string_view name() const noexcept override { return "bucket"; }
  bool reads_prompt() const noexcept override { return true; }
  PromptUse prompt_use() const noexcept override {
    return {.tokens = true, .text_bytes = PromptUse::kWhole};
  }

 private:
  struct Bucket {
    std::uint32_t serial;
    std::uint64_t last;  ///< the largest size it takes
    std::uint64_t sum;   ///< of the sizes in the window
  };

  struct Sent {
    TimePoint at;
    std::uint32_t serial;
    std::uint64_t size;
  };

  /// Another fleet starts from even ranges again.
  void follow_fleet(Workers workers) {
    const bool same =
        std::equal(buckets_.begin(), buckets_.end(), workers.begin(), workers.end(),
                   [](const Bucket& b, const Worker* w) { return b.serial == w->serial(); });
    if (same) return;
    buckets_.clear();
    for (const Worker* worker : workers) {
      const std::uint64_t end = kInitialRange * (buckets_.size() + 1) / workers.size();
      buckets_.push_back({worker->serial(), end, 0});
    }
    buckets_.back().last = kOpenEnd;
    for (const Sent& sent : window_) {
      if (Bucket* const bucket = bucket_with(sent.serial)) bucket->sum += sent.size;
    }
  }

  Bucket* bucket_with(std::uint32_t serial) noexcept {
    const auto found = std::find_if(buckets_.begin(), buckets_.end(),
                                    [&](const Bucket& bucket) { return bucket.serial == serial; });
    return found == buckets_.end() ? nullptr : &*found;
  }

  void record(const Worker& worker, std::uint64_t size, TimePoint now) {
    window_.push_back({now, worker.serial(), size});
    if (Bucket* const bucket = bucket_with(worker.serial())) bucket->sum += size;
  }

  void forget_old(TimePoint now) {
    for (; !window_.empty() && now - window_.front().at > interval_; window_.pop_front()) {
      Bucket* const bucket = bucket_with(window_.front().serial);
      if (bucket != nullptr) bucket->sum -= window_.front().size;
    }
  }

  bool is_unbalanced() const noexcept {
    const auto [least, most] = std::minmax_element(buckets_.begin(), buckets_.end(), lighter);
    const auto low = static_cast<double>(least->sum);
    const auto high = static_cast<double>(most->sum);
    return high - low > abs_threshold_ && high > rel_threshold_ * low;
  }

  static bool lighter(const Bucket& a, const Bucket& b) noexcept { return a.sum < b.sum; }

  std::size_t lightest() const noexcept {
    const auto least = std::min_element(buckets_.begin(), buckets_.end(), lighter);
    return static_cast<std::size_t>(least - buckets_.begin());
  }

  std::size_t bucket_of(std::uint64_t size) const noexcept {
    const auto found = std::find_if(buckets_.begin(), buckets_.end(),
                                    [&](const Bucket& bucket) { return size <= bucket.last; });
    return static_cast<std::size_t>(found - buckets_.begin());
  }

  /// The worker of this bucket, or of the nearest one whose worker may be chosen: a retry must go
  /// on.
  Worker* nearest_eligible(std::size_t wanted, Workers eligible) const noexcept {
    const auto worker_of = [&](std::size_t index) -> Worker* {
      if (index >= buckets_.size()) return nullptr;
      const auto found = std::find_if(eligible.begin(), eligible.end(), [&](const Worker* worker) {
        return worker->serial() == buckets_[index].serial;
      });
      return found == eligible.end() ? nullptr : *found;
    };
    for (std::size_t distance = 0; distance < buckets_.size(); ++distance) {
      if (Worker* const above = worker_of(wanted + distance)) return above;
      if (distance > wanted) continue;
      if (Worker* const below = worker_of(wanted - distance)) return below;
    }
    return eligible.front();
  }

  /// Once in an interval, cuts the sizes of the window into ranges of equal sums, unless a worker's
  /// share has changed by less than a factor of two.
  void adjust(TimePoint now) {
    if (now - adjusted_ < interval_) return;
    adjusted_ = now;
    const auto add = [](std::uint64_t sum, const Sent& sent) { return sum + sent.size; };
    const std::uint64_t total =
        std::accumulate(window_.begin(), window_.end(), std::uint64_t{0}, add);
    const std::uint64_t share = total / buckets_.size();
    if (share == 0 || (share_ > 0 && share < 2 * share_ && share_ < 2 * share)) return;
    share_ = share;
    std::vector<std::uint64_t> sizes;
    sizes.reserve(window_.size());
    for (const Sent& sent : window_) sizes.push_back(sent.size);
    std::sort(sizes.begin(), sizes.end());
    std::size_t bucket = 0;
    std::uint64_t sum = 0;
    for (const auto size : sizes) {
      sum += size;
      while (bucket + 1 < buckets_.size() && sum >= share * (bucket + 1)) {
        buckets_[bucket++].last = size;
      }
    }
    for (; bucket < buckets_.size(); ++bucket) buckets_[bucket].last = kOpenEnd;
  }

  const std::chrono::seconds interval_;
  const double abs_threshold_;
  const double rel_threshold_;
  std::mutex mutex_;
  std::vector<Bucket> buckets_;
  std::deque<Sent> window_;
  TimePoint adjusted_{};
  std::uint64_t share_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_bucket_policy(const config::Bucket& tuning,
                                           const config::CacheAware& balance) {
  return std::make_unique<BucketPolicy>(tuning, balance);
}

}  // namespace smg::routing
