#pragma once

#include <optional>
#include <string>

#include "control/kubernetes_client.hpp"
#include "control/pod_fleet.hpp"
#include <smg/net/gate.hpp>
#include <smg/observability/discovery_metrics.hpp>

namespace smg::control {

/// What followers share.
struct PodSource {
  const config::Discovery& settings;
  KubernetesClient& client;
  observability::DiscoveryMetrics& metrics;
  CancelScope& scope;
  net::Gate& news;  ///< opened when other workers may be asked for
};

/// Knows the pods of one selector: lists them, watches what becomes of them, and lists them again
/// when a watch cannot go on. On the scope's IoThread.
class PodFollower {
 public:
  /// Everything in `source`, and `selector`, must outlive the follower.
  PodFollower(PodSource source, const config::PodSelector& selector, routing::WorkerRole role);

  /// Ends when the scope is cancelled.
  [[nodiscard]] net::Task<> run();

  /// All pods are known, as they were when the API server was last asked.
  [[nodiscard]] bool listed() const noexcept { return listed_; }
  [[nodiscard]] const PodFleet& fleet() const noexcept { return fleet_; }

 private:
  [[nodiscard]] net::Task<Result<>> list();
  [[nodiscard]] net::Task<Result<>> watch();
  [[nodiscard]] bool take_event(std::string_view line, std::optional<GatewayError>& error);
  [[nodiscard]] GatewayError refusal(const upstream::FetchedResponse& response);
  void report(std::string_view call, const GatewayError& error);

  PodSource source_;
  const config::PodSelector& selector_;
  PodReader reader_;
  PodFleet fleet_;
  std::string version_;       ///< the next watch goes on from there; empty: a list is due
  std::uint64_t events_ = 0;  ///< of the present watch
  bool listed_ = false;
  std::string last_failure_;  ///< reported
};

}  // namespace smg::control
