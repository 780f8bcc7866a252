#pragma once

#include <cstdint>
#include <string>

namespace smg::routing {

/// What makes a worker one data-parallel rank of an engine: the engine is at `base_url`, and the
/// worker's own URL is `base_url@rank`.
struct DataParallelRank {
  std::string base_url;
  std::uint32_t rank = 0;
  std::uint32_t size = 1;  ///< ranks of the engine
};

}  // namespace smg::routing
