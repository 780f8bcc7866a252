#pragma once

#include <vector>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>

namespace smg::observability {

// What has been counted elsewhere, shown by a metric. Not for two threads at once.

/// A counter keeps a value that is higher.
void raise_to(prometheus::Counter& counter, double total);
/// A number of things that cannot be negative. What began on one thread and ended on another may
/// have been seen at its end only.
void raise_to(prometheus::Gauge& gauge, double total);
/// `counts`: of each bucket alone, that of +Inf being the last.
void raise_to(prometheus::Histogram& histogram, const std::vector<double>& counts, double sum);

}  // namespace smg::observability
