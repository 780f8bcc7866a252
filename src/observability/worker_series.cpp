#include "smg/observability/worker_series.hpp"

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <utility>

#include "observability/raise.hpp"
#include "observability/worker_families.hpp"

namespace smg::observability {

using prometheus::Counter;
using prometheus::Gauge;

namespace {

const std::vector<std::string> kByWorker{"worker"};
const std::vector<std::string> kByProtocol{"worker", "protocol"};

/// In the order of WorkerGauge.
std::array<prometheus::Family<Gauge>*, kWorkerGaugeCount> register_gauges(
    FamilyRegistry& registry) {
  const std::array<FamilyFacts, kWorkerGaugeCount> facts{{
      {"smg_worker_requests_active", "Requests in service at the worker.", kByWorker},
      {"smg_worker_health", "1 if the worker is healthy, else 0.", kByWorker},
      {"smg_worker_http2", "1 if HTTP/2 was chosen for the worker at registration, else 0.",
       kByWorker},
      {"smg_worker_cb_state",
       "State of the worker's circuit breaker: 0 closed, 1 open, 2 half-open.", kByWorker},
      {"smg_worker_cb_consecutive_failures", "Failures in a row that the circuit breaker has seen.",
       kByWorker},
      {"smg_worker_cb_consecutive_successes",
       "Successes in a row that the circuit breaker has seen.", kByWorker},
  }};
  std::array<prometheus::Family<Gauge>*, kWorkerGaugeCount> families{};
  std::ranges::transform(facts, families.begin(), [&](const FamilyFacts& gauge) {
    return &register_family<Gauge>(registry, gauge);
  });
  return families;
}

/// Outcomes are numbered like the first two events.
constexpr std::size_t index_of(bool success) noexcept {
  return static_cast<std::size_t>(success ? WorkerEvent::Success : WorkerEvent::Failure);
}

}  // namespace

WorkerFamilies::WorkerFamilies(std::shared_ptr<FamilyRegistry> registry)
    : registry_(std::move(registry)),
      gauges_(register_gauges(*registry_)),
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
                                                      {"worker", "outcome"}})) {
  registry_->before_collecting([this] { show(); });
}

std::pair<WorkerSlot*, std::size_t> WorkerFamilies::open(std::string_view url) {
  const std::lock_guard lock(mutex_);
  auto found = slots_.find(url);
  if (found == slots_.end()) {
    auto slot = std::make_unique<WorkerSlot>();
    slot->url = url;
    for (std::size_t i = 0; i < kWorkerGaugeCount; ++i) {
      slot->gauges[i] = &gauges_[i]->Add({{"worker", slot->url}});
    }
    found = slots_.emplace(slot->url, std::move(slot)).first;
  }
  WorkerSlot& slot = *found->second;
  slot.rows.push_back({tally_.open()});
  return {&slot, slot.rows.back().number};
}

void WorkerFamilies::close(WorkerSlot& slot, std::size_t row) {
  const std::lock_guard lock(mutex_);
  const auto totals = tally_.totals(row);
  for (std::size_t i = 0; i < slot.gone.size(); ++i) slot.gone[i] += totals[i];
  std::erase_if(slot.rows, [row](const WorkerSlot::Row& own) { return own.number == row; });
  tally_.close(row);
  if (!slot.rows.empty()) return;
  if (slot.hidden) {
    std::erase_if(hidden_, [&slot](const auto& other) { return other.get() == &slot; });
  } else {
    remove_series(slot);
    slots_.erase(slots_.find(slot.url));
  }
}

void WorkerFamilies::retire(WorkerSlot& slot, std::size_t row) {
  const std::lock_guard lock(mutex_);
  std::ranges::find(slot.rows, row, &WorkerSlot::Row::number)->retired = true;
}

void WorkerFamilies::show() {
  const std::lock_guard lock(mutex_);
  for (auto at = slots_.begin(); at != slots_.end();) {
    auto& slot = at->second;
    if (is_over(*slot)) {
      remove_series(*slot);
      slot->hidden = true;
      hidden_.push_back(std::move(slot));
      at = slots_.erase(at);
    } else {
      show(*slot);
      ++at;
    }
  }
}

bool WorkerFamilies::is_over(const WorkerSlot& slot) const {
  return std::ranges::all_of(slot.rows, &WorkerSlot::Row::retired) && count_in_service(slot) <= 0;
}

std::int64_t WorkerFamilies::count_in_service(const WorkerSlot& slot) const {
  std::int64_t active = 0;
  for (const auto& row : slot.rows) {
    active += tally_.totals(row.number)[static_cast<std::size_t>(WorkerEvent::Active)];
  }
  return active;
}

void WorkerFamilies::show(const WorkerSlot& slot) const {
  auto outcomes = slot.gone;
  for (const auto& row : slot.rows) {
    const auto totals = tally_.totals(row.number);
    for (std::size_t i = 0; i < outcomes.size(); ++i) outcomes[i] += totals[i];
  }
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    Counter* counter = slot.outcomes[i].load(std::memory_order_acquire);
    if (counter != nullptr) raise_to(*counter, static_cast<double>(outcomes[i]));
  }
  for (std::size_t i = 0; i < kWorkerGaugeCount; ++i) {
    slot.gauges[i]->Set(static_cast<double>(slot.values[i].load(std::memory_order_relaxed)));
  }
  raise_to(*slot.gauges[static_cast<std::size_t>(WorkerGauge::RequestsActive)],
           static_cast<double>(count_in_service(slot)));
}

void WorkerFamilies::remove_series(const WorkerSlot& slot) {
  for (std::size_t i = 0; i < kWorkerGaugeCount; ++i) gauges_[i]->Remove(slot.gauges[i]);
  for (const auto& [idle, in_use, open] : slot.connections) {
    if (idle == nullptr) continue;
    connections_.Remove(idle);
    connections_.Remove(in_use);
    connections_open_.Remove(open);
  }
  for (const auto& row : slot.transitions) {
    for (Counter* made : row) {
      if (made != nullptr) transitions_.Remove(made);
    }
  }
  for (const auto& counter : slot.outcomes) {
    if (Counter* made = counter.load()) outcomes_.Remove(made);
  }
}

void WorkerFamilies::set_connections(WorkerSlot& slot, UpstreamProtocol protocol,
                                     ConnectionCounts counts, bool is_own) {
  const std::lock_guard lock(mutex_);
  if (slot.hidden) return;
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

void WorkerFamilies::count_transition(WorkerSlot& slot, CircuitState from, CircuitState to) {
  const std::lock_guard lock(mutex_);
  if (slot.hidden) return;
  auto& made = slot.transitions[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  if (made == nullptr) {
    made = &transitions_.Add({{"worker", slot.url},
                              {"from", std::string(name_of(from))},
                              {"to", std::string(name_of(to))}});
  }
  made->Increment();
}

void WorkerFamilies::count_outcome(WorkerSlot& slot, std::size_t row, bool success) {
  const auto& counter = slot.outcomes[index_of(success)];
  if (counter.load(std::memory_order_relaxed) == nullptr) make_outcome(slot, success);
  tally_.count(row, index_of(success));
}

void WorkerFamilies::make_outcome(WorkerSlot& slot, bool success) {
  const std::lock_guard lock(mutex_);
  if (slot.hidden) return;
  // Two threads may come here at once: the family gives both the same counter.
  slot.outcomes[index_of(success)].store(
      &outcomes_.Add({{"worker", slot.url}, {"outcome", success ? "success" : "failure"}}),
      std::memory_order_release);
}

WorkerSeries::WorkerSeries(std::shared_ptr<WorkerFamilies> families, std::string_view url)
    : families_(std::move(families)) {
  std::tie(slot_, row_) = families_->open(url);
  slot_->newest.store(this);
}

WorkerSeries::~WorkerSeries() {
  const WorkerSeries* self = this;
  slot_->newest.compare_exchange_strong(self, nullptr);
  families_->close(*slot_, row_);
}

void WorkerSeries::retire() {
  families_->retire(*slot_, row_);
}

bool WorkerSeries::speaks_for_worker() const noexcept {
  const WorkerSeries* newest = slot_->newest.load(std::memory_order_relaxed);
  return newest == this || newest == nullptr;
}

void WorkerSeries::set(WorkerGauge gauge, std::uint64_t value) noexcept {
  if (!speaks_for_worker()) return;
  slot_->values[static_cast<std::size_t>(gauge)].store(value, std::memory_order_relaxed);
}

void WorkerSeries::request_began() noexcept {
  families_->count_active(row_, 1);
}

void WorkerSeries::request_ended() noexcept {
  families_->count_active(row_, -1);
}

void WorkerSeries::set_health(bool healthy) noexcept {
  set(WorkerGauge::Health, healthy ? 1 : 0);
}

void WorkerSeries::set_http2(bool http2) noexcept {
  set(WorkerGauge::Http2, http2 ? 1 : 0);
}

void WorkerSeries::set_connections(UpstreamProtocol protocol, ConnectionCounts counts,
                                   bool is_own) {
  if (speaks_for_worker()) families_->set_connections(*slot_, protocol, counts, is_own);
}

void WorkerSeries::set_circuit_state(CircuitState state) noexcept {
  set(WorkerGauge::CircuitState, static_cast<std::uint64_t>(state));
}

void WorkerSeries::set_consecutive_failures(std::uint64_t failures) noexcept {
  set(WorkerGauge::ConsecutiveFailures, failures);
}

void WorkerSeries::set_consecutive_successes(std::uint64_t successes) noexcept {
  set(WorkerGauge::ConsecutiveSuccesses, successes);
}

void WorkerSeries::count_circuit_transition(CircuitState from, CircuitState to) {
  families_->count_transition(*slot_, from, to);
}

void WorkerSeries::count_circuit_outcome(bool success) {
  families_->count_outcome(*slot_, row_, success);
}

}  // namespace smg::observability
