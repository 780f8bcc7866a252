#include "observability/raise.hpp"

#include <gtest/gtest.h>

namespace smg::observability {
namespace {

TEST(Raise, CounterKeepsTheHighestTotal) {
  prometheus::Counter counter;
  const struct {
    double total;
    double shown;
  } steps[] = {{0, 0}, {3, 3}, {3, 3}, {2, 3}, {4, 4}};
  for (const auto& [total, shown] : steps) {
    raise_to(counter, total);
    EXPECT_EQ(counter.Value(), shown) << total;
  }
}

TEST(Raise, GaugeFollowsButNotBelowZero) {
  prometheus::Gauge gauge;
  const struct {
    double total;
    double shown;
  } steps[] = {{2, 2}, {1, 1}, {-1, 0}, {5, 5}};
  for (const auto& [total, shown] : steps) {
    raise_to(gauge, total);
    EXPECT_EQ(gauge.Value(), shown) << total;
  }
}

TEST(Raise, HistogramShowsCountsOfBucketsAndTheExactSum) {
  prometheus::Histogram histogram({1, 2});
  const struct {
    std::vector<double> counts;
    double sum;  // 0.76 + (2.89 - 0.76) is not 2.89, in floating point
  } steps[] = {{{1, 0, 0}, 0.76}, {{1, 1, 0}, 2.89}, {{1, 1, 0}, 2.89}, {{1, 1, 4}, 1e9}};
  ASSERT_NE(steps[0].sum + (steps[1].sum - steps[0].sum), steps[1].sum);
  for (const auto& [counts, sum] : steps) {
    raise_to(histogram, counts, sum);
    const auto shown = histogram.Collect().histogram;
    double cumulated = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
      cumulated += counts[i];
      EXPECT_EQ(static_cast<double>(shown.bucket[i].cumulative_count), cumulated) << i;
    }
    EXPECT_EQ(static_cast<double>(shown.sample_count), cumulated);
    EXPECT_EQ(shown.sample_sum, sum);
  }
}

}  // namespace
}  // namespace smg::observability
