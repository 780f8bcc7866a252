#include "control/table_builder.hpp"

#include <utility>

#include <smg/config/validate.hpp>
#include <smg/observability/log.hpp>

namespace smg::control {
namespace {

using Aliases = std::map<std::string, std::string, std::less<>>;

std::string_view policy_label(const routing::Worker& worker) {
  const auto& labels = worker.facts().labels;
  const auto found = labels.find("policy");
  return found == labels.end() ? std::string_view{} : std::string_view(found->second);
}

/// Whether the flags that tune a policy are sound: at start, only those of --policy are looked at.
bool is_tuned(const config::GatewayConfig& config, std::string_view policy) {
  const auto problems = config::tuning_problems(config, policy);
  for (const auto& problem : problems) {
    observability::log_warn("a worker's label names a policy that is not set up for use",
                            {{"policy", policy}, {"problem", problem}});
  }
  return problems.empty();
}

/// The first worker that gives an alias decides what it leads to.
void add_aliases(Aliases& aliases, const routing::Worker& worker) {
  for (const auto& model : worker.facts().models) {
    for (const auto& alias : model.aliases) aliases.try_emplace(alias, model.id);
  }
}

}  // namespace

TableBuilder::TableBuilder(const config::GatewayConfig& config) : config_(config) {
  for (const auto role : routing::kWorkerRoles) {
    kept_[static_cast<std::size_t>(role)][""] = make(role, {});
  }
}

const std::string& TableBuilder::default_policy(routing::WorkerRole role) const {
  const std::string& prefill = config_.modes.prefill_policy;
  const std::string& decode = config_.modes.decode_policy;
  if (role == routing::WorkerRole::Prefill && !prefill.empty()) return prefill;
  if (role == routing::WorkerRole::Decode && !decode.empty()) return decode;
  return config_.fleet.policy;
}

TableBuilder::PolicyPtr TableBuilder::make(routing::WorkerRole role, std::string_view name) const {
  if (!name.empty() && is_tuned(config_, name)) {
    if (PolicyPtr named = routing::make_policy(name, config_, tallies_)) return named;
  }
  return routing::make_policy(default_policy(role), config_, tallies_);
}

/// The policy that the model's workers of this role had in the last table, or a new one.
TableBuilder::PolicyPtr TableBuilder::policy_for(const std::string& model, routing::WorkerRole role,
                                                 std::string_view name) {
  const auto index = static_cast<std::size_t>(role);
  PolicyPtr& policy = kept_[index][model];
  if (policy) return policy;
  const auto known = before_[index].find(model);
  policy = known != before_[index].end() ? known->second : make(role, name);
  return policy;
}

routing::WorkerTablePtr TableBuilder::build(std::vector<routing::WorkerPtr> workers) {
  using routing::WorkerRole;
  routing::ModelPools pools;
  routing::ModelPairs pairs;
  Aliases aliases;
  before_ = std::exchange(kept_, {});
  const auto pool_for = [&](const std::string& model, WorkerRole role,
                            std::string_view name) -> routing::ModelPool& {
    auto& pool = role == WorkerRole::Regular   ? pools[model]
                 : role == WorkerRole::Prefill ? pairs[model].prefill
                                               : pairs[model].decode;
    if (!pool.policy) pool = {model, {}, policy_for(model, role, name)};
    return pool;
  };
  for (const auto role : routing::kWorkerRoles) pool_for("", role, {});
  for (const auto& worker : workers) {
    const WorkerRole role = worker->facts().pd.role;
    pool_for("", role, {}).workers.push_back(worker.get());
    for (const auto& model : worker->facts().models) {
      pool_for(model.id, role, policy_label(*worker)).workers.push_back(worker.get());
    }
    add_aliases(aliases, *worker);
  }
  // Of a pair with one role only, the other pool has a policy all the same.
  for (const auto& [model, pair] : pairs) {
    pool_for(model, WorkerRole::Prefill, {});
    pool_for(model, WorkerRole::Decode, {});
  }
  before_ = {};
  last_ = std::make_shared<const routing::WorkerTable>(
      std::move(workers), std::move(pools), std::move(aliases), last_.get(), std::move(pairs));
  return last_;
}

}  // namespace smg::control
