#include "relay/target.hpp"

#include <smg/routing/pair_selection.hpp>

namespace smg::relay {
namespace {

using config::RouterMode;

bool generates(InferenceRoute route) noexcept {
  return route != InferenceRoute::Embeddings && route != InferenceRoute::Classify;
}

GatewayError not_found(const std::optional<std::string>& model) {
  return fail(ErrorCode::ModelNotFound,
              "No worker available for model '" + model.value_or("unknown") + "'");
}

GatewayError unsupported(InferenceRoute route) {
  return fail(ErrorCode::UnsupportedRoute,
              std::string(facts(route).path) +
                  " is not served by workers that share requests as prefill and decode");
}

Result<Target> find_pairs(const routing::WorkerTable& table, InferenceRoute route,
                          const std::optional<std::string>& model) {
  if (!generates(route)) return unsupported(route);
  const bool names_nothing = model && model->empty();
  if (const auto* pairs = names_nothing ? nullptr : table.find_pairs(model.value_or(""))) {
    return Target{nullptr, pairs};
  }
  GatewayError nobody =
      fail(ErrorCode::NoAvailableWorkers, "No prefill workers available for model '" +
                                              model.value_or("unknown") +
                                              "'. Please check if prefill servers are "
                                              "configured and healthy.");
  nobody.retry_after_seconds = 1;  // one may be registered at any time
  return nobody;
}

}  // namespace

Result<Target> find_target(RouterMode mode, const routing::WorkerTable& table, InferenceRoute route,
                           const std::optional<std::string>& model, double draw) {
  if (mode == RouterMode::PrefillDecode) return find_pairs(table, route, model);
  if (mode == RouterMode::MultiModel && !model) {
    return fail(ErrorCode::MissingModel,
                std::string(facts(route).path) +
                    " requests must name a model: it chooses the workers under --enable-igw");
  }
  if (model && model->empty()) return not_found(model);
  const auto* const pool = table.find(model.value_or(""));
  if (mode == RouterMode::MultiModel) {
    const auto* const pairs = table.find_pairs(*model);
    const bool shareable = generates(route) || pool == nullptr;
    if (shareable && routing::draws_pair(pool, pairs, draw)) return find_pairs(table, route, model);
  }
  if (pool == nullptr) return not_found(model);
  return Target{pool, nullptr};
}

}  // namespace smg::relay
