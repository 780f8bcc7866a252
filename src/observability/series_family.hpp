#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <prometheus/family.h>
#include <prometheus/histogram.h>

#include "observability/family_registry.hpp"

namespace smg::observability {

/// A family whose series are found without a lock. The registry's own look-up takes one and copies
/// all labels, too much for every request. Here found series stay in a hash table that only grows:
/// readers follow atomic pointers; a writer, under the mutex, adds entries or publishes a larger
/// table. Entries and outgrown tables live as long as the family, since a reader may be in them.
template <class Metric>
class SeriesFamily {
 public:
  SeriesFamily(FamilyRegistry& registry, FamilyFacts facts)
      : facts_(std::move(facts)), family_(register_family<Metric>(registry, facts_)) {
    publish(kFirstCapacity);
  }

  /// The series with these label values, in the order of FamilyFacts::labels; made if it is new.
  [[nodiscard]] Metric& at(std::initializer_list<std::string_view> values) {
    assert(values.size() == facts_.labels.size());
    const std::size_t hash = hash_of(values);
    if (const Series* series = find(hash, values)) return *series->metric;
    return add(hash, values);
  }

 private:
  struct Series {
    std::size_t hash;
    std::vector<std::string> values;
    Metric* metric;
  };

  /// Open addressing with linear probing; never more than half full, so that probing ends.
  struct Table {
    explicit Table(std::size_t capacity) : mask(capacity - 1), slots(capacity) {}

    void insert(const Series& series) {
      std::size_t i = series.hash & mask;
      while (slots[i].load(std::memory_order_relaxed) != nullptr) i = (i + 1) & mask;
      slots[i].store(&series, std::memory_order_release);
    }

    std::size_t mask;
    std::vector<std::atomic<const Series*>> slots;
  };

  static constexpr std::size_t kFirstCapacity = 16;  // a power of two, as all capacities

  [[nodiscard]] static std::size_t hash_of(
      std::initializer_list<std::string_view> values) noexcept {
    std::size_t hash = 0;
    for (const std::string_view value : values) {
      hash = hash * 0x9E3779B97F4A7C15U + std::hash<std::string_view>{}(value);
    }
    return hash;
  }

  [[nodiscard]] const Series* find(std::size_t hash,
                                   std::initializer_list<std::string_view> values) const noexcept {
    const Table& table = *table_.load(std::memory_order_acquire);
    for (std::size_t i = hash & table.mask;; i = (i + 1) & table.mask) {
      const Series* series = table.slots[i].load(std::memory_order_acquire);
      if (series == nullptr) return nullptr;
      if (series->hash == hash &&
          std::equal(values.begin(), values.end(), series->values.begin(), series->values.end())) {
        return series;
      }
    }
  }

  [[nodiscard]] Metric& add(std::size_t hash, std::initializer_list<std::string_view> values) {
    const std::lock_guard lock(mutex_);
    if (const Series* series = find(hash, values)) return *series->metric;
    prometheus::Labels labels;
    auto name = facts_.labels.begin();
    for (const std::string_view value : values) labels.emplace(*name++, value);
    series_.push_back(std::make_unique<Series>(
        Series{hash, {values.begin(), values.end()}, &add_to_registry(labels)}));
    Table& table = *tables_.back();
    if (series_.size() * 2 > table.slots.size()) {
      publish(table.slots.size() * 2);
    } else {
      table.insert(*series_.back());
    }
    return *series_.back()->metric;
  }

  [[nodiscard]] Metric& add_to_registry(const prometheus::Labels& labels) {
    if constexpr (std::is_same_v<Metric, prometheus::Histogram>) {
      return family_.Add(labels, facts_.bounds);
    } else {
      return family_.Add(labels);
    }
  }

  /// Replaces the table by one of `capacity` slots that holds all series.
  void publish(std::size_t capacity) {
    auto table = std::make_unique<Table>(capacity);
    for (const auto& series : series_) table->insert(*series);
    table_.store(table.get(), std::memory_order_release);
    tables_.push_back(std::move(table));
  }

  const FamilyFacts facts_;
  prometheus::Family<Metric>& family_;
  std::atomic<const Table*> table_{nullptr};
  std::mutex mutex_;  // guards what follows
  std::vector<std::unique_ptr<Series>> series_;
  std::vector<std::unique_ptr<Table>> tables_;  // the last is the current one
};

}  // namespace smg::observability
