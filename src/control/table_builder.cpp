#include "control/table_builder.hpp"

#include <utility>

namespace smg::control {
namespace {

using Pools = std::map<std::string, routing::ModelPool, std::less<>>;
using Aliases = std::map<std::string, std::string, std::less<>>;

std::string_view policy_label(const routing::Worker& worker) {
  const auto& labels = worker.facts().labels;
  const auto found = labels.find("policy");
  return found == labels.end() ? std::string_view{} : std::string_view(found->second);
}

/// The first worker that gives an alias decides what it leads to.
void add_aliases(Aliases& aliases, const routing::Worker& worker) {
  for (const auto& model : worker.facts().models) {
    for (const auto& alias : model.aliases) aliases.try_emplace(alias, model.id);
  }
}

}  // namespace

TableBuilder::TableBuilder(const config::GatewayConfig& config)
    : config_(config), for_all_(make({})) {}

std::shared_ptr<routing::Policy> TableBuilder::make(std::string_view name) const {
  if (!name.empty()) {
    if (std::shared_ptr<routing::Policy> named = routing::make_policy(name, config_, tallies_))
      return named;
  }
  return routing::make_policy(config_.fleet.policy, config_, tallies_);
}

routing::WorkerTablePtr TableBuilder::build(std::vector<routing::WorkerPtr> workers) {
  Pools pools;
  Aliases aliases;
  auto before = std::exchange(by_model_, {});
  pools[""] = {"", {}, for_all_};
  for (const auto& worker : workers) {
    pools[""].workers.push_back(worker.get());
    for (const auto& model : worker->facts().models) {
      auto& pool = pools[model.id];
      if (!pool.policy) {
        const auto kept = before.find(model.id);
        pool.model = model.id;
        pool.policy = kept != before.end() ? kept->second : make(policy_label(*worker));
        by_model_[model.id] = pool.policy;
      }
      pool.workers.push_back(worker.get());
    }
    add_aliases(aliases, *worker);
  }
  last_ = std::make_shared<const routing::WorkerTable>(std::move(workers), std::move(pools),
                                                       std::move(aliases), last_.get());
  return last_;
}

}  // namespace smg::control
