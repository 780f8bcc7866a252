#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace smg::observability {

class FamilyRegistry;

/// The metrics of service discovery, one method for each event; part of Metrics. Thread-safe.
class DiscoveryMetrics {
 public:
  /// `bounds`: upper bounds of buckets, in seconds.
  DiscoveryMetrics(FamilyRegistry& registry, const std::vector<double>& bounds);
  ~DiscoveryMetrics();

  /// smg_discovery_workers_discovered: workers that pods ask for now.
  void set_workers(std::uint64_t workers);
  /// smg_discovery_registrations_total. `result`: success, duplicate or failed.
  void count_registration(std::string_view result);
  /// smg_discovery_deregistrations_total: the worker of a pod that is not ready any more.
  void count_deregistration();
  /// smg_discovery_sync_duration_seconds: pods and fleet were compared, and something changed.
  void observe_sync(std::chrono::duration<double> elapsed);
  /// smg_discovery_api_failures_total. `call`: list or watch.
  void count_failure(std::string_view call);

 private:
  struct Families;

  std::unique_ptr<Families> families_;
};

}  // namespace smg::observability
