#include "smg/observability/worker_series.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "observability/series_family.hpp"
#include "observability/worker_families.hpp"

namespace smg::observability {

using prometheus::Counter;
using prometheus::Gauge;

namespace {

const std::vector<std::string> kByWorker{"worker"};
const std::vector<std::string> kByProtocol{"worker", "protocol"};

}  // namespace

WorkerFamilies::WorkerFamilies(std::shared_ptr<FamilyRegistry> registry)
    : registry_(std::move(registry)),
      requests_active_(register_family<Gauge>(
          *registry_,
          {"smg_worker_requests_active", "Requests in service at the worker.", kByWorker})),
      health_(register_family<Gauge>(
          *registry_, {"smg_worker_health", "1 if the worker is healthy, else 0.", kByWorker})),
      http2_(register_family<Gauge>(
          *registry_,
          {"smg_worker_http2", "1 if HTTP/2 was chosen for the worker at registration, else 0.",
           kByWorker})),
      circuit_state_(register_family<Gauge>(
          *registry_,
          {"smg_worker_cb_state",
           "State of the worker's circuit breaker: 0 closed, 1 open, 2 half-open.", kByWorker})),
      consecutive_failures_(register_family<Gauge>(
          *registry_, {"smg_worker_cb_consecutive_failures",
                       "Failures in a row that the circuit breaker has seen.", kByWorker})),
      consecutive_successes_(register_family<Gauge>(
          *registry_, {"smg_worker_cb_consecutive_successes",
                       "Successes in a row that the circuit breaker has seen.", kByWorker})),
      connections_(register_family<Gauge>(
          *registry_, {"smg_upstream_connections",
                       "Open connections to the worker by HTTP version, idle and in use.",
                       {"worker", "protocol", "state"}})),
      connections_open_(register_family<Gauge>(
          *registry_,
          {"smg_upstream_connections_open",
           "Open connections to the worker by HTTP version, in any state.", kByProtocol})),
      transitions_(register_family<Counter>(*registry_, {"smg_worker_cb_transitions_total",
                                                         "State changes of the circuit breaker.",
                                                         {"worker", "from", "to"}})),
      outcomes_(register_family<Counter>(*registry_, {"smg_worker_cb_outcomes_total",
                                                      "Outcomes recorded by the circuit breaker.",
                                                      {"worker", "outcome"}})) {}

WorkerSlot& WorkerFamilies::open(std::string_view url) {
  const std::lock_guard lock(mutex_);
  auto found = slots_.find(url);
  if (found == slots_.end()) {
    auto slot = std::make_unique<WorkerSlot>();
    slot->url = url;
    add_gauges(*slot);
    found = slots_.emplace(slot->url, std::move(slot)).first;
  }
  ++found->second->handles;
  return *found->second;
}

void WorkerFamilies::close(WorkerSlot& slot) {
  const std::lock_guard lock(mutex_);
  if (--slot.handles > 0) return;
  remove_series(slot);
  slots_.erase(slots_.find(slot.url));
}

void WorkerFamilies::add_gauges(WorkerSlot& slot) {
  const prometheus::Labels labels{{"worker", slot.url}};
  slot.requests_active = &requests_active_.Add(labels);
  slot.health = &health_.Add(labels);
  slot.http2 = &http2_.Add(labels);
  slot.circuit_state = &circuit_state_.Add(labels);
  slot.consecutive_failures = &consecutive_failures_.Add(labels);
  slot.consecutive_successes = &consecutive_successes_.Add(labels);
}

void WorkerFamilies::remove_series(const WorkerSlot& slot) {
  requests_active_.Remove(slot.requests_active);
  health_.Remove(slot.health);
  http2_.Remove(slot.http2);
  circuit_state_.Remove(slot.circuit_state);
  consecutive_failures_.Remove(slot.consecutive_failures);
  consecutive_successes_.Remove(slot.consecutive_successes);
  for (const auto& [idle, in_use, open] : slot.connections) {
    if (idle == nullptr) continue;
    connections_.Remove(idle);
    connections_.Remove(in_use);
    connections_open_.Remove(open);
  }
  for (const auto& row : slot.transitions) {
    for (const auto& counter : row) {
      if (Counter* made = counter.load()) transitions_.Remove(made);
    }
  }
  for (const auto& counter : slot.outcomes) {
    if (Counter* made = counter.load()) outcomes_.Remove(made);
  }
}

void WorkerFamilies::set_connections(WorkerSlot& slot, UpstreamProtocol protocol,
                                     ConnectionCounts counts, bool is_own) {
  const std::lock_guard lock(mutex_);
  auto& gauges = slot.connections[static_cast<std::size_t>(protocol)];
  if (gauges[0] == nullptr) {
    if (!is_own && counts.idle + counts.in_use == 0) return;
    const char* name = protocol == UpstreamProtocol::Http1 ? "http1" : "http2";
    prometheus::Labels labels{{"worker", slot.url}, {"protocol", name}};
    gauges[2] = &connections_open_.Add(labels);
    labels["state"] = "idle";
    gauges[0] = &connections_.Add(labels);
    labels["state"] = "in_use";
    gauges[1] = &connections_.Add(labels);
  }
  gauges[0]->Set(static_cast<double>(counts.idle));
  gauges[1]->Set(static_cast<double>(counts.in_use));
  gauges[2]->Set(static_cast<double>(counts.idle + counts.in_use));
}

Counter& WorkerFamilies::transition(WorkerSlot& slot, CircuitState from, CircuitState to) {
  auto& counter = slot.transitions[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  if (Counter* made = counter.load(std::memory_order_acquire)) return *made;
  // Two threads may come here at once: the family gives both the same counter.
  Counter& made = transitions_.Add({{"worker", slot.url},
                                    {"from", std::string(name_of(from))},
                                    {"to", std::string(name_of(to))}});
  counter.store(&made, std::memory_order_release);
  return made;
}

Counter& WorkerFamilies::outcome(WorkerSlot& slot, bool success) {
  auto& counter = slot.outcomes[success ? 1 : 0];
  if (Counter* made = counter.load(std::memory_order_acquire)) return *made;
  Counter& made =
      outcomes_.Add({{"worker", slot.url}, {"outcome", success ? "success" : "failure"}});
  counter.store(&made, std::memory_order_release);
  return made;
}

WorkerSeries::WorkerSeries(std::shared_ptr<WorkerFamilies> families, std::string_view url)
    : families_(std::move(families)), slot_(&families_->open(url)) {
  slot_->newest.store(this);
}

WorkerSeries::~WorkerSeries() {
  slot_->requests_active->Decrement(static_cast<double>(active_.load()));
  const WorkerSeries* self = this;
  slot_->newest.compare_exchange_strong(self, nullptr);
  families_->close(*slot_);
}

bool WorkerSeries::speaks_for_worker() const noexcept {
  const WorkerSeries* newest = slot_->newest.load(std::memory_order_relaxed);
  return newest == this || newest == nullptr;
}

void WorkerSeries::request_began() noexcept {
  active_.fetch_add(1, std::memory_order_relaxed);
  slot_->requests_active->Increment();
}

void WorkerSeries::request_ended() noexcept {
  active_.fetch_sub(1, std::memory_order_relaxed);
  slot_->requests_active->Decrement();
}

void WorkerSeries::set_health(bool healthy) noexcept {
  if (speaks_for_worker()) slot_->health->Set(healthy ? 1 : 0);
}

void WorkerSeries::set_http2(bool http2) noexcept {
  if (speaks_for_worker()) slot_->http2->Set(http2 ? 1 : 0);
}

void WorkerSeries::set_connections(UpstreamProtocol protocol, ConnectionCounts counts,
                                   bool is_own) {
  if (speaks_for_worker()) families_->set_connections(*slot_, protocol, counts, is_own);
}

void WorkerSeries::set_circuit_state(CircuitState state) noexcept {
  if (speaks_for_worker()) slot_->circuit_state->Set(static_cast<double>(state));
}

void WorkerSeries::set_consecutive_failures(std::uint64_t failures) noexcept {
  if (speaks_for_worker()) slot_->consecutive_failures->Set(static_cast<double>(failures));
}

void WorkerSeries::set_consecutive_successes(std::uint64_t successes) noexcept {
  if (speaks_for_worker()) slot_->consecutive_successes->Set(static_cast<double>(successes));
}

void WorkerSeries::count_circuit_transition(CircuitState from, CircuitState to) {
  families_->transition(*slot_, from, to).Increment();
}

void WorkerSeries::count_circuit_outcome(bool success) {
  families_->outcome(*slot_, success).Increment();
}

}  // namespace smg::observability
