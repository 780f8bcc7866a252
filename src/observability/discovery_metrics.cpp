#include "observability/series_family.hpp"
#include <smg/observability/discovery_metrics.hpp>

namespace smg::observability {
namespace {

using prometheus::Counter;
using prometheus::Gauge;
using prometheus::Histogram;

const prometheus::Labels kSource{{"source", "kubernetes"}};

}  // namespace

struct DiscoveryMetrics::Families {
  Families(FamilyRegistry& registry, const std::vector<double>& bounds)
      : workers(registry, {"smg_discovery_workers_discovered",
                           "Workers that the pods of discovery ask for.",
                           {},
                           kSource}),
        registrations(registry, {"smg_discovery_registrations_total",
                                 "Workers of pods handed to the fleet, by result.",
                                 {"result"},
                                 kSource}),
        deregistrations(registry, {"smg_discovery_deregistrations_total",
                                   "Workers taken back since their pods left.",
                                   {"reason"},
                                   kSource}),
        syncs(registry, {"smg_discovery_sync_duration_seconds",
                         "Time that comparing pods with the fleet took.",
                         {},
                         kSource,
                         bounds}),
        failures(registry, {"smg_discovery_api_failures_total",
                            "Failed calls of the API server, by call.",
                            {"call"},
                            kSource}) {}

  SeriesFamily<Gauge> workers;
  SeriesFamily<Counter> registrations;
  SeriesFamily<Counter> deregistrations;
  SeriesFamily<Histogram> syncs;
  SeriesFamily<Counter> failures;
};

DiscoveryMetrics::DiscoveryMetrics(FamilyRegistry& registry, const std::vector<double>& bounds)
    : families_(std::make_unique<Families>(registry, bounds)) {}

DiscoveryMetrics::~DiscoveryMetrics() = default;

void DiscoveryMetrics::set_workers(std::uint64_t workers) {
  families_->workers.at({}).Set(static_cast<double>(workers));
}

void DiscoveryMetrics::count_registration(std::string_view result) {
  families_->registrations.count({result});
}

void DiscoveryMetrics::count_deregistration() {
  families_->deregistrations.count({"reconciled"});
}

void DiscoveryMetrics::observe_sync(std::chrono::duration<double> elapsed) {
  families_->syncs.observe({}, elapsed.count());
}

void DiscoveryMetrics::count_failure(std::string_view call) {
  families_->failures.count({call});
}

}  // namespace smg::observability
