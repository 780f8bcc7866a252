#include "cli/options.hpp"

namespace smg::cli {

void bind_retry(FlagSet& flags, config::Retry& retry) {
  flags.group("Retries");
  flags.number({"--retry-max-retries", "N", "attempts of a request, the first one included"},
               retry.max_attempts);
  flags.duration({"--retry-initial-backoff-ms", "MS", "wait before the second attempt"},
                 retry.initial_backoff);
  flags.duration({"--retry-max-backoff-ms", "MS", "longest wait"}, retry.max_backoff);
  flags.real({"--retry-backoff-multiplier", "X", "growth of the wait, at least 1"},
             retry.multiplier);
  flags.real({"--retry-jitter-factor", "X", "share of the wait that is random, 0 to 1"},
             retry.jitter);
  flags.toggle({"--disable-retries", "", "send each request once"}, retry.disabled);
}

}  // namespace smg::cli
