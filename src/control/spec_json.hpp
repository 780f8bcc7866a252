#pragma once

#include "control/json_writer.hpp"
#include "control/worker_spec.hpp"

namespace smg::control {

void write_card(JsonWriter& json, const ModelCard& card);
/// The field `labels`, unless there are none.
void write_labels(JsonWriter& json, const std::map<std::string, std::string>& labels);
/// The fields `health`, `http_pool`, `resilience`, `load_monitor_interval_secs`
/// and `overload`, each if it is given.
void write_overrides(JsonWriter& json, const WorkerSpec& spec);

/// The whole spec, so that read_worker_spec() reads it back: with its key, and
/// so only for places where secrets may be.
void write_spec(JsonWriter& json, const WorkerSpec& spec);

}  // namespace smg::control
