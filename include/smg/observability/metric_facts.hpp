#pragma once

#include <string>
#include <vector>

namespace smg::observability {

/// What there is to say of a metric, whether it has a sample or not.
struct MetricFacts {
  std::string name;
  std::string type;  ///< as in a TYPE line: counter, gauge or histogram
  std::string help;
  std::vector<std::string> labels;  ///< names, those with one value for all series first
};

}  // namespace smg::observability
