#pragma once

#include <algorithm>
#include <functional>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <smg/observability/metric_facts.hpp>

namespace smg::observability {

/// What is fixed about a family of series.
struct FamilyFacts {
  std::string name;
  std::string help;
  std::vector<std::string> labels = {};  ///< names of the labels that tell its series apart
  prometheus::Labels constants = {};     ///< labels that all its series carry
  std::vector<double> bounds = {};       ///< upper bounds of buckets, for histograms
};

/// A registry that can tell all of its families; the exposition has only those with a sample.
/// Families are registered by one thread, before the first exposition.
class FamilyRegistry : public prometheus::Registry {
 public:
  void note(const FamilyFacts& facts, std::string type) {
    MetricFacts metric{facts.name, std::move(type), facts.help, {}};
    for (const auto& [label, value] : facts.constants) metric.labels.push_back(label);
    metric.labels.insert(metric.labels.end(), facts.labels.begin(), facts.labels.end());
    metrics_.push_back(std::move(metric));
  }

  /// By name. What is registered later is missing in it.
  [[nodiscard]] std::vector<MetricFacts> metrics() const {
    auto sorted = metrics_;
    std::ranges::sort(sorted, {}, &MetricFacts::name);
    return sorted;
  }

  /// From now on `show` is called before each exposition, never by two threads at once.
  void before_collecting(std::function<void()> show) { shows_.push_back(std::move(show)); }

  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override {
    const std::lock_guard lock(mutex_);
    for (const auto& show : shows_) show();
    return prometheus::Registry::Collect();
  }

 private:
  mutable std::mutex mutex_;  // held by an exposition
  std::vector<std::function<void()>> shows_;
  std::vector<MetricFacts> metrics_;
};

/// Registers an empty family, which the exposition leaves out until it has a series.
template <class Metric>
[[nodiscard]] prometheus::Family<Metric>& register_family(FamilyRegistry& registry,
                                                          const FamilyFacts& facts) {
  const auto complete = [&](auto builder, std::string type) -> prometheus::Family<Metric>& {
    registry.note(facts, std::move(type));
    return builder.Name(facts.name).Help(facts.help).Labels(facts.constants).Register(registry);
  };
  if constexpr (std::is_same_v<Metric, prometheus::Counter>) {
    return complete(prometheus::BuildCounter(), "counter");
  } else if constexpr (std::is_same_v<Metric, prometheus::Gauge>) {
    return complete(prometheus::BuildGauge(), "gauge");
  } else {
    return complete(prometheus::BuildHistogram(), "histogram");
  }
}

}  // namespace smg::observability
