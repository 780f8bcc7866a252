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

PodFacts facts_of(const Pod& pod, std::size_t index, routing::WorkerRole role) {
  PodFacts facts{pod.name, pod.uid, pod.model_id, role};
  if (role == routing::WorkerRole::Regular) return facts;
  facts.kv_connector = pod.kv_connector;
  if (index < pod.kv_engine_ids.size()) facts.kv_engine_id = pod.kv_engine_ids[index];
  if (role == routing::WorkerRole::Prefill) facts.bootstrap_port = pod.bootstrap_port;
  return facts;
}

bool is_same_worker(const PodFacts& a, const PodFacts& b) {
  return a.uid == b.uid && a.role == b.role;
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

std::map<std::string, PodFacts> PodFleet::workers() const {
  std::map<std::string, PodFacts> workers;
  for (const auto& [key, pod] : pods_) {
    if (!pod.ready) continue;
    for (std::size_t i = 0; i < pod.ports.size(); ++i) {
      workers.insert_or_assign(url_of(pod, pod.ports[i]), facts_of(pod, i, role_));
    }
  }
  return workers;
}

DiscoveryPlan plan_discovery(const std::map<std::string, PodFacts>& wanted,
                             const std::vector<PodWorker>& present) {
  DiscoveryPlan plan;
  std::map<std::string_view, const PodWorker*> by_url;
  for (const auto& worker : present) {
    if (!worker.failed) by_url.emplace(worker.url, &worker);
    const auto found = wanted.find(worker.url);
    const bool stays = found != wanted.end() && is_same_worker(found->second, worker.pod);
    if (!stays && !worker.leaving) plan.removals.push_back(worker);
  }
  for (const auto& [url, pod] : wanted) {
    const auto known = by_url.find(url);
    if (known == by_url.end()) {
      plan.registrations.push_back({url, pod, {}});
    } else if (known->second->leaving || !is_same_worker(known->second->pod, pod)) {
      plan.unfinished = true;
    } else if (known->second->pod != pod) {
      plan.registrations.push_back({url, pod, known->second->id});
    }
  }
  return plan;
}

}  // namespace smg::control
