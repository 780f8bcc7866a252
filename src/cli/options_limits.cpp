#include "cli/options.hpp"

namespace smg::cli {

void bind_limits(FlagSet& flags, config::Limits& limits, config::Admission& admission) {
  flags.group("Limits");
  flags.number({"--max-payload-size", "BYTES", "largest body, either way"},
               limits.max_payload_size);
  flags.number({"--max-buffered-request-bytes", "BYTES",
                "largest request body that is kept only so that it can be retried"},
               limits.max_buffered_request_bytes);
  flags.duration({"--stream-body-stall-timeout-secs", "SECS",
                  "patience with a streamed upload that stands still (a buffered one has no "
                  "such limit); 0: endless"},
                 limits.stream_body_stall_timeout);
  flags.duration({"--request-timeout-secs", "SECS", "time that a worker has for a whole request"},
                 limits.request_timeout);
  flags.add({{"--max-concurrent-requests", "N", "requests that run at once; 0 or less: no limit"},
             std::to_string(admission.max_concurrent_requests),
             Arity::One,
             [&limit = admission.max_concurrent_requests](const Words& words) {
               limit = to_signed(words.front());
             }});
  flags.number({"--queue-size", "N", "requests that may wait for --max-concurrent-requests"},
               admission.queue_size);
  flags.duration({"--queue-timeout-secs", "SECS", "how long they may wait"},
                 admission.queue_timeout);
  flags.number({"--rate-limit-tokens-per-second", "N", "permits added each second; 0: none"},
               admission.rate_limit_tokens_per_second);
}

}  // namespace smg::cli
