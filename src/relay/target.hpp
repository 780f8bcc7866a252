#pragma once

#include <optional>
#include <string>

#include <smg/base/result.hpp>
#include <smg/config/inference_route.hpp>
#include <smg/config/router_mode.hpp>
#include <smg/routing/worker_table.hpp>

namespace smg::relay {

/// Who may answer a request: the regular workers of a model, or its pairs. One is null.
struct Target {
  const routing::ModelPool* pool = nullptr;
  const routing::PairPools* pairs = nullptr;

  [[nodiscard]] const std::string& model() const noexcept {
    return pool != nullptr ? pool->model : pairs->prefill.model;
  }
  [[nodiscard]] routing::PromptUse prompt_use() const noexcept {
    return pool != nullptr ? pool->policy->prompt_use() : pairs->prompt_use();
  }
};

/// Finds them for the model that a body names; of none, any will do, unless the model chooses the
/// workers. `draw`, uniform in [0, 1), decides where a model has both kinds. Errors: MissingModel,
/// ModelNotFound; NoAvailableWorkers where only pairs are asked and there is none for the model;
/// UnsupportedRoute for embeddings and classification by pairs, which generate nothing.
[[nodiscard]] Result<Target> find_target(config::RouterMode mode, const routing::WorkerTable& table,
                                         InferenceRoute route,
                                         const std::optional<std::string>& model, double draw);

}  // namespace smg::relay
