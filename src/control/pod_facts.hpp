#pragma once

#include <string>

namespace smg::control {

/// Whose worker this is, for workers that discovery has found.
struct PodIdentity {
  std::string name;
  std::string uid;
  std::string model_id;  ///< beats the worker's own name, which becomes an alias; may be empty

  friend bool operator==(const PodIdentity&, const PodIdentity&) = default;
};

}  // namespace smg::control
