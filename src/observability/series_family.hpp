#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include <prometheus/family.h>
#include <prometheus/histogram.h>

#include "observability/family_registry.hpp"
#include "observability/label_key.hpp"
#include "observability/per_thread.hpp"
#include "observability/raise.hpp"

namespace smg::observability {

/// What one thread has counted of one counter, or up and down of one gauge.
class CountCell {
 public:
  explicit CountCell(const std::vector<double>& /*bounds*/) noexcept {}

  void enter(double amount) noexcept { count_.add(amount); }

  template <class Metric>
  static void show(Metric& metric, const std::vector<const CountCell*>& cells) {
    double total = 0;
    for (const CountCell* cell : cells) total += cell->count_.value();
    raise_to(metric, total);
  }

 private:
  OwnNumber<double> count_;
};

/// What one thread has observed of one histogram.
class HistogramCell {
 public:
  /// `bounds`: upper bounds of buckets, ascending; they have to live as long.
  explicit HistogramCell(const std::vector<double>& bounds)
      : bounds_(bounds), counts_(bounds.size() + 1) {}

  void enter(double value) noexcept {
    std::size_t bucket = 0;  // counted without branches that would depend on the value
    for (const double bound : bounds_) bucket += bound >= value ? 0 : 1;
    counts_[bucket].add(1);
    sum_.add(value);
  }

  static void show(prometheus::Histogram& metric, const std::vector<const HistogramCell*>& cells) {
    std::vector<double> totals(cells.front()->counts_.size());
    double sum = 0;
    for (const HistogramCell* cell : cells) {
      for (std::size_t i = 0; i < totals.size(); ++i) totals[i] += cell->counts_[i].value();
      sum += cell->sum_.value();
    }
    raise_to(metric, totals, sum);
  }

 private:
  const std::vector<double>& bounds_;
  std::vector<OwnNumber<double>> counts_;
  OwnNumber<double> sum_;
};

/// A family whose series are counted by each thread in memory of its own; an exposition adds up.
/// The registry's own look-up takes a lock and copies all labels, too much for every request: it is
/// asked when a thread meets a series for the first time. Thread-safe.
template <class Metric>
class SeriesFamily {
  static constexpr bool kIsHistogram = std::is_same_v<Metric, prometheus::Histogram>;

 public:
  SeriesFamily(FamilyRegistry& registry, FamilyFacts facts)
      : facts_(std::move(facts)), family_(register_family<Metric>(registry, facts_)) {
    registry.before_collecting([this] { show(); });
  }

  /// Adds to a counter, or to a gauge, there below 0 too. The series is made if it is new.
  [[gnu::always_inline]] void count(LabelValues values, double amount = 1)
    requires(!kIsHistogram)
  {
    enter(values, amount);
  }

  /// Adds a value to a histogram.
  [[gnu::always_inline]] void observe(LabelValues values, double value)
    requires kIsHistogram
  {
    enter(values, value);
  }

  /// The series itself, made if it is new: for what is set, or read back, and seldom. It takes
  /// locks and allocates. What is set here does not last if the series is counted, too.
  [[nodiscard]] Metric& at(LabelValues values) {
    assert(values.size() == facts_.labels.size());
    prometheus::Labels labels;
    auto name = facts_.labels.begin();
    for (const std::string_view value : values) labels.emplace(*name++, value);
    if constexpr (kIsHistogram) {
      return family_.Add(labels, facts_.bounds);
    } else {
      return family_.Add(labels);
    }
  }

 private:
  using Cell = std::conditional_t<kIsHistogram, HistogramCell, CountCell>;

  /// Hashes and compares, so that values are found without making a key of them.
  struct ByValues {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the container's name

    std::size_t operator()(const LabelKey& key) const noexcept { return key.hash(); }
    std::size_t operator()(LabelValues values) const noexcept { return LabelKey::hash_of(values); }

    bool operator()(const LabelKey& key, const LabelKey& other) const noexcept {
      return key == other;
    }
    bool operator()(LabelValues values, const LabelKey& key) const noexcept {
      return key.matches(values);
    }
  };

  using Cells = std::unordered_map<LabelKey, Cell, ByValues, ByValues>;

  /// The series that a thread has met.
  struct Known {
    Cells cells;
    Cells::value_type* last = nullptr;  ///< mostly the next one too
  };

  /// Inlined where the number of values is known.
  [[gnu::always_inline]] void enter(LabelValues values, double amount) {
    const Known* known = known_.find();
    if (known != nullptr && known->last != nullptr && known->last->first.matches(values)) {
      known->last->second.enter(amount);
    } else {
      look_up_and_enter(values, amount);
    }
  }

  [[gnu::noinline]] void look_up_and_enter(LabelValues values, double amount) {
    known_.with_own([&](Known& known) {
      const auto found = known.cells.find(values);
      known.last = found != known.cells.end() ? &*found : &add(known, values);
      known.last->second.enter(amount);
    });
  }

  [[nodiscard]] Cells::value_type& add(Known& known, LabelValues values) {
    const std::lock_guard lock(mutex_);
    auto& cells = cells_[&at(values)];
    cells.reserve(cells.size() + 1);  // memory that lacks must not leave a cell that nobody adds up
    auto& added = *known.cells.try_emplace(LabelKey(values), facts_.bounds).first;
    cells.push_back(&added.second);
    return added;
  }

  void show() {
    const std::lock_guard lock(mutex_);
    for (const auto& [metric, cells] : cells_) {
      if (!cells.empty()) Cell::show(*metric, cells);
    }
  }

  const FamilyFacts facts_;
  prometheus::Family<Metric>& family_;
  PerThread<Known> known_;
  std::mutex mutex_;  // guards what follows
  std::map<Metric*, std::vector<const Cell*>> cells_;
};

}  // namespace smg::observability
