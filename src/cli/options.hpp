#pragma once

#include <string>

#include "cli/flag_set.hpp"
#include <smg/config/gateway_config.hpp>

/// One function for each heading of --help, in its order. All bind flags to fields of the settings,
/// whose present values are the defaults.
namespace smg::cli {

void bind_listen(FlagSet& flags, config::Listen& listen);
void bind_limits(FlagSet& flags, config::Limits& limits, config::Admission& admission);
void bind_upstream(FlagSet& flags, config::Upstream& upstream);
void bind_retry(FlagSet& flags, config::Retry& retry);
void bind_circuit_breaker(FlagSet& flags, config::CircuitBreaker& breaker);
void bind_health(FlagSet& flags, config::Health& health);
void bind_fleet(FlagSet& flags, config::Fleet& fleet);
void bind_modes(FlagSet& flags, config::Modes& modes, config::Bucket& bucket);
void bind_sessions(FlagSet& flags, config::Fleet& fleet, config::StickySessions& sticky);
void bind_cache_aware(FlagSet& flags, config::CacheAware& cache);
void bind_policies(FlagSet& flags, config::RoutingTuning& tuning);
void bind_load_monitor(FlagSet& flags, config::LoadMonitor& monitor,
                       config::WorkerOverload& overload);
void bind_discovery(FlagSet& flags, config::Discovery& discovery);
void bind_access(FlagSet& flags, config::Access& access);
void bind_observability(FlagSet& flags, config::Observability& observability);
void bind_tracing(FlagSet& flags, config::Tracing& tracing);

/// Flags of other modes of operation that change nothing when bytes are only passed on.
void bind_accepted(FlagSet& flags);

/// Flags that are known and refused.
void bind_unsupported(FlagSet& flags);

}  // namespace smg::cli
