#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "control/worker_spec.hpp"

namespace smg::control {

/// A worker as it is kept over restarts.
struct SavedWorker {
  std::vector<std::string> ids;  ///< its own, or those of its ranks in their order; never empty
  WorkerSpec spec;
};

/// The text of a state file: JSON, with the workers' keys.
[[nodiscard]] std::string write_state(const std::vector<SavedWorker>& workers);

/// Reads it back. Errors say what is wrong without quoting values; their code is STATE_VERSION for
/// the file of another version, else STATE_DAMAGED.
[[nodiscard]] ControlResult<std::vector<SavedWorker>> parse_state(std::string_view text);

}  // namespace smg::control
