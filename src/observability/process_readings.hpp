#pragma once

namespace smg::observability {

/// What the system says of this process (proc(5)); 0 for what cannot be read.
struct ProcessReadings {
  double resident_bytes = 0;
  double cpu_seconds = 0;  ///< user and system
  double open_descriptors = 0;
  double most_descriptors = 0;  ///< the limit
  double threads = 0;
  double started = 0;  ///< seconds since 1970
};

[[nodiscard]] ProcessReadings read_process();

}  // namespace smg::observability
