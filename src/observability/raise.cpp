#include "observability/raise.hpp"

#include <algorithm>
#include <cassert>
#include <cstdint>

namespace smg::observability {

void raise_to(prometheus::Counter& counter, double total) {
  const double missing = total - counter.Value();
  if (missing > 0) counter.Increment(missing);
}

void raise_to(prometheus::Gauge& gauge, double total) {
  gauge.Set(std::max(0.0, total));
}

void raise_to(prometheus::Histogram& histogram, const std::vector<double>& counts, double sum) {
  const auto before = histogram.Collect().histogram;
  assert(counts.size() == before.bucket.size());
  std::vector<double> missing;
  missing.reserve(counts.size());
  std::uint64_t cumulated = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::uint64_t upto = before.bucket[i].cumulative_count;
    missing.push_back(std::max(0.0, counts[i] - static_cast<double>(upto - cumulated)));
    cumulated = upto;
  }
  const double step = sum - before.sample_sum;
  histogram.ObserveMultiple(missing, step);
  // The step is rounded, and so is the sum after it; that sum is to be the counted one exactly.
  const double rest = sum - (before.sample_sum + step);
  if (rest != 0) histogram.ObserveMultiple(std::vector<double>(counts.size()), rest);
}

}  // namespace smg::observability
