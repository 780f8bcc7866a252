#include "cli/options.hpp"

namespace smg::cli {

void bind_circuit_breaker(FlagSet& flags, config::CircuitBreaker& breaker) {
  flags.group("Circuit breakers");
  flags.number({"--cb-failure-threshold", "N", "failures in a row that open a worker's breaker"},
               breaker.failure_threshold);
  flags.number({"--cb-success-threshold", "N", "successes in a row that close it"},
               breaker.success_threshold);
  flags.duration({"--cb-timeout-duration-secs", "SECS", "time until an open breaker is tried"},
                 breaker.timeout);
  flags.duration({"--cb-window-duration-secs", "SECS", "accepted, without effect"}, breaker.window);
  flags.toggle({"--disable-circuit-breaker", "", "no circuit breakers"}, breaker.disabled);
}

void bind_health(FlagSet& flags, config::Health& health) {
  flags.group("Health of workers");
  flags.number({"--health-failure-threshold", "N", "failed checks that make a worker unhealthy"},
               health.failure_threshold);
  flags.number({"--health-success-threshold", "N", "passed checks that make it healthy again"},
               health.success_threshold);
  flags.duration({"--health-check-timeout-secs", "SECS", "patience with one check"},
                 health.timeout);
  flags.duration({"--health-check-interval-secs", "SECS", "time between checks"}, health.interval);
  flags.text({"--health-check-endpoint", "PATH", "what is asked of a worker"}, health.endpoint);
  flags.toggle({"--disable-health-check", "", "no checks; workers count as healthy"},
               health.disabled);
  flags.add({{"--remove-unhealthy-workers,--worker-auto-recovery,"
              "!--no-remove-unhealthy-workers,!--no-worker-auto-recovery",
              "", "drop workers that stay unhealthy; discovery registers them anew"},
             "as --service-discovery",
             Arity::Switch,
             [&remove = health.remove_unhealthy](const Words& words) {
               remove = to_bool(words.front());
             }});
}

}  // namespace smg::cli
