#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "control/exposition.hpp"

namespace smg::control {

/// Joins the expositions of several workers into one (Prometheus text format 0.0.4): each sample
/// gets the label `worker_addr`, each family's HELP and TYPE are kept once, and colons in metric
/// names become underscores. Lines that are no samples are dropped.
class EngineMetrics {
 public:
  void add(std::string_view worker_url, std::string_view exposition);
  [[nodiscard]] std::string text() const;

 private:
  struct Family {
    std::string help;
    std::string type;
    std::string samples;
  };

  Family& family(std::string_view name);
  void add_comment(std::string_view line, std::string& current);
  void add_sample(const ExpositionSample& sample, std::string_view worker_url,
                  std::string_view current);

  std::vector<std::string> order_;
  std::map<std::string, Family, std::less<>> families_;
};

}  // namespace smg::control
