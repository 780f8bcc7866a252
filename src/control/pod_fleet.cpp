#include "control/pod_fleet.hpp"

#include <algorithm>
#include <utility>

namespace smg::control {
namespace {

std::string url_of(const Pod& pod, std::uint16_t port) {
  const bool is_ipv6 = pod.ip.find(':') != std::string::npos;
  // As worker URLs are spelled everywhere: a default port is left out.
  return "http://" + (is_ipv6 ? "[" + pod.ip + "]" : pod.ip) +
         (port == 80 ? "" : ":" + std::to_string(port));
}

}  // namespace

void PodFleet::replace(std::vector<Pod> pods) {
  pods_.clear();
  for (auto& pod : pods) {
    auto key = pod.key();
    pods_.insert_or_assign(std::move(key), std::move(pod));
  }
}

bool PodFleet::apply(const PodEvent& event) {
  if (event.kind == PodEvent::Kind::Deleted) return pods_.erase(event.pod.key()) > 0;
  if (event.kind != PodEvent::Kind::Changed) return false;
  Pod& known = pods_[event.pod.key()];
  if (known == event.pod) return false;
  known = event.pod;
  return true;
}

std::map<std::string, PodIdentity> PodFleet::workers() const {
  std::map<std::string, PodIdentity> workers;
  for (const auto& [key, pod] : pods_) {
    if (!pod.ready) continue;
    for (const auto port : pod.ports) {
      workers.insert_or_assign(url_of(pod, port), PodIdentity{pod.name, pod.uid, pod.model_id});
    }
  }
  return workers;
}

DiscoveryPlan plan_discovery(const std::map<std::string, PodIdentity>& wanted,
                             const std::vector<PodWorker>& present) {
  DiscoveryPlan plan;
  std::map<std::string_view, const PodWorker*> by_url;
  for (const auto& worker : present) {
    if (!worker.failed) by_url.emplace(worker.url, &worker);
    const auto found = wanted.find(worker.url);
    const bool stays = found != wanted.end() && found->second.uid == worker.pod.uid;
    if (!stays && !worker.leaving) plan.removals.push_back(worker);
  }
  for (const auto& [url, pod] : wanted) {
    const auto known = by_url.find(url);
    if (known == by_url.end()) {
      plan.registrations.push_back({url, pod, {}});
    } else if (known->second->leaving || known->second->pod.uid != pod.uid) {
      plan.unfinished = true;
    } else if (known->second->pod != pod) {
      plan.registrations.push_back({url, pod, known->second->id});
    }
  }
  return plan;
}

}  // namespace smg::control
