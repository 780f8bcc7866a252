#pragma once

#include "control/json_writer.hpp"
#include "control/worker_entry.hpp"

namespace smg::control {

/// Writes a worker as the workers API shows it (policies_and_workers 5.3, ruling 24): everything
/// but its key. `worker`: one of the entry's; null while it has none.
void write_worker(JsonWriter& json, const WorkerEntry& entry, const routing::Worker* worker,
                  const config::Fleet& flags);

}  // namespace smg::control
