#pragma once

#include <map>
#include <string>
#include <vector>

#include "control/pod.hpp"
#include "control/pod_facts.hpp"

namespace smg::control {

/// The pods of one selector as the API server last told of them, and the workers that they ask
/// for. Pure.
class PodFleet {
 public:
  /// `role`: that of the workers.
  explicit PodFleet(routing::WorkerRole role) : role_(role) {}

  /// After a list: these are all the pods that there are.
  void replace(std::vector<Pod> pods);
  /// An event of a watch; false: it changes nothing.
  bool apply(const PodEvent& event);

  /// One for each port of each ready pod, by URL. Of two pods with the same address, as there can
  /// be for a moment while one replaces the other, the one with the greater name.
  [[nodiscard]] std::map<std::string, PodFacts> workers() const;

 private:
  routing::WorkerRole role_;
  std::map<std::string, Pod> pods_;  ///< by Pod::key()
};

/// A worker of a pod as the registry has it.
struct PodWorker {
  std::string id;
  std::string url;
  PodFacts pod;
  bool leaving = false;  ///< is drained and goes by itself
  bool failed = false;   ///< could not be registered, and is not tried any more
};

/// What brings the fleet to what the pods ask for.
struct DiscoveryPlan {
  struct Registration {
    std::string url;
    PodFacts pod;
    std::string id;  ///< of the worker that it changes; empty: there is none yet
  };

  std::vector<Registration> registrations;
  std::vector<PodWorker> removals;
  bool unfinished = false;  ///< something has to wait until a worker has left

  [[nodiscard]] bool empty() const noexcept { return registrations.empty() && removals.empty(); }
};

/// Compares. A pod that took another one's address, or another role, is another worker: the old one
/// leaves first. A pod that changes the name of its model registers anew, and serves meanwhile.
[[nodiscard]] DiscoveryPlan plan_discovery(const std::map<std::string, PodFacts>& wanted,
                                           const std::vector<PodWorker>& present);

}  // namespace smg::control
