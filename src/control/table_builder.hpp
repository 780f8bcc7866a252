#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <smg/config/gateway_config.hpp>
#include <smg/routing/worker_table.hpp>

namespace smg::control {

/// Makes worker tables, and keeps the policy of each model from table to table: a policy lives as
/// long as its model has workers. Not thread-safe.
class TableBuilder {
 public:
  /// `config` names the default policy, tunes all of them, and must outlive the builder.
  explicit TableBuilder(const config::GatewayConfig& config);

  /// The table of these workers, in their order. Of each role, a model takes the policy that its
  /// first worker's label `policy` names, or else the role's default; the pools of all workers have
  /// policies of their own.
  [[nodiscard]] routing::WorkerTablePtr build(std::vector<routing::WorkerPtr> workers);

  /// What the policies have decided so far.
  [[nodiscard]] const routing::PolicyTallies& tallies() const noexcept { return *tallies_; }

 private:
  using PolicyPtr = std::shared_ptr<routing::Policy>;
  /// Of one role, by model; the empty name is that of the pool of all workers.
  using Policies = std::map<std::string, PolicyPtr, std::less<>>;

  [[nodiscard]] PolicyPtr make(routing::WorkerRole role, std::string_view name) const;
  [[nodiscard]] const std::string& default_policy(routing::WorkerRole role) const;
  [[nodiscard]] PolicyPtr policy_for(const std::string& model, routing::WorkerRole role,
                                     std::string_view name);

  const config::GatewayConfig& config_;
  const routing::PolicyTalliesPtr tallies_ = std::make_shared<routing::PolicyTallies>();
  std::array<Policies, routing::kWorkerRoles.size()> kept_;
  std::array<Policies, routing::kWorkerRoles.size()> before_;  ///< while a table is built
  routing::WorkerTablePtr last_;
};

}  // namespace smg::control
