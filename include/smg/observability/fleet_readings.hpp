#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace smg::observability {

/// Gauges that are read off the fleet at a scrape, instead of being kept up to date. Their labels,
/// in the order in which a reading gives them, stand behind each.
enum class FleetGauge : std::uint8_t {
  CacheTreeChars,         ///< model
  CacheTreeTokens,        ///< model
  CacheTreeTenants,       ///< model, tree: string or token
  CachePlacementEntries,  ///< model
  ManualCacheEntries,     ///< none
  RoutingKeysActive,      ///< worker
  EngineRunning,          ///< worker, model, dp_rank, as of those that follow
  EngineWaiting,
  EngineTokenUsage,
  EngineThroughput,
  EngineHitRate,
};

inline constexpr std::size_t kFleetGaugeCount = 11;

struct FleetReading {
  FleetGauge gauge;
  std::vector<std::string> labels;
  double value = 0;
};

}  // namespace smg::observability
