#include "cli/options.hpp"

namespace smg::cli {

void bind_upstream(FlagSet& flags, config::Upstream& upstream) {
  flags.group("Connections to workers");
  flags.duration(
      {"--upstream-pool-idle-timeout-secs", "SECS", "life of an idle connection; 0: endless"},
      upstream.pool_idle_timeout);
  flags.toggle({"--upstream-http2", "", "negotiate HTTP/2 with each worker at its registration"},
               upstream.http2);
  flags.list(
      {"--forward-request-headers", "NAME...", "further request headers that workers get to see"},
      upstream.forward_request_headers);
}

}  // namespace smg::cli
