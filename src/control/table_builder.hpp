#pragma once

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

  /// The table of these workers, in their order. A model takes the policy that its first worker's
  /// label `policy` names, or else the default one; the pool of all workers has one of its own.
  [[nodiscard]] routing::WorkerTablePtr build(std::vector<routing::WorkerPtr> workers);

  /// What the policies have decided so far.
  [[nodiscard]] const routing::PolicyTallies& tallies() const noexcept { return *tallies_; }

 private:
  [[nodiscard]] std::shared_ptr<routing::Policy> make(std::string_view name) const;

  const config::GatewayConfig& config_;
  const routing::PolicyTalliesPtr tallies_ = std::make_shared<routing::PolicyTallies>();
  const std::shared_ptr<routing::Policy> for_all_;
  std::map<std::string, std::shared_ptr<routing::Policy>, std::less<>> by_model_;
  routing::WorkerTablePtr last_;
};

}  // namespace smg::control
