#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <smg/routing/worker.hpp>

namespace smg::control {

/// What is known of a worker by its pod, for workers that discovery has found.
struct PodFacts {
  std::string name;
  std::string uid;
  std::string model_id = {};  ///< beats the worker's own name, which becomes an alias; may be empty
  routing::WorkerRole role = routing::WorkerRole::Regular;  ///< whose selector has found it
  // Of prefill and decode workers.
  std::optional<std::uint16_t> bootstrap_port = {};
  std::string kv_connector = {};
  std::string kv_engine_id = {};

  friend bool operator==(const PodFacts&, const PodFacts&) = default;
};

}  // namespace smg::control
