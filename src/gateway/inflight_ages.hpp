#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include <smg/net/io_thread.hpp>
#include <smg/observability/metrics.hpp>

namespace smg::gateway {

/// How long the requests in service have been there: each io thread keeps a list of its own, and
/// looks through it now and then while there is any.
class InflightAges {
 public:
  explicit InflightAges(net::IoThreads& threads);
  ~InflightAges();
  InflightAges(const InflightAges&) = delete;
  InflightAges& operator=(const InflightAges&) = delete;

  /// A request that is in service as long as this lives, on one io thread.
  class Entry {
   public:
    Entry(InflightAges& ages, net::IoThread& thread, net::TimePoint started);
    ~Entry();
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;

   private:
    friend class InflightAges;
    net::TimePoint started_;
    Entry* previous_ = nullptr;
    Entry* next_;
    Entry** head_;
  };

  /// The sums of the last looks. From any thread.
  void show(observability::Metrics& metrics) const;

  static constexpr std::size_t kBuckets = std::size(observability::kInflightAgeBounds) + 1;
  using Counts = std::array<std::uint64_t, kBuckets>;

  /// Adds a request of this age to its bucket: above one bound, up to the next.
  static void count(Counts& counts, std::chrono::seconds age) noexcept;

 private:
  struct Thread;

  std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace smg::gateway
