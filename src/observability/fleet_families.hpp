#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <prometheus/family.h>
#include <prometheus/gauge.h>

#include "observability/family_registry.hpp"
#include <smg/observability/fleet_readings.hpp>

namespace smg::observability {

/// The families of FleetGauge: their series are those of the last readings, no others. Thread-safe.
class FleetFamilies {
 public:
  explicit FleetFamilies(FamilyRegistry& registry);

  void show(const std::vector<FleetReading>& readings);

 private:
  struct Series {
    prometheus::Gauge* gauge = nullptr;
    std::uint64_t shown = 0;  ///< number of the last `show` that had it
  };

  struct Family {
    prometheus::Family<prometheus::Gauge>* family = nullptr;
    std::map<std::vector<std::string>, Series> series;
  };

  std::mutex mutex_;
  std::array<Family, kFleetGaugeCount> families_;
  std::uint64_t shows_ = 0;
};

}  // namespace smg::observability
