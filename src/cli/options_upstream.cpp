#include "cli/options.hpp"

namespace smg::cli {

void bind_upstream(FlagSet& flags, config::Upstream& upstream) {
  flags.group("Connections to workers");
  flags.duration(
      {"--upstream-pool-idle-timeout-secs", "SECS", "life of an idle connection; 0: endless"},
      upstream.pool_idle_timeout);
  flags.toggle({"--upstream-http2", "", "negotiate HTTP/2 with each worker at its registration"},
               upstream.http2);
  flags.list({"--ca-cert-paths", "FILE...", "authorities trusted for https:// workers"},
             upstream.ca_cert_paths);
  flags.text({"--client-cert-path", "FILE", "certificate shown to https:// workers"},
             upstream.client_cert_path);
  flags.text({"--client-key-path", "FILE", "its private key"}, upstream.client_key_path);
  flags.list(
      {"--forward-request-headers", "NAME...", "further request headers that workers get to see"},
      upstream.forward_request_headers);
}

}  // namespace smg::cli
