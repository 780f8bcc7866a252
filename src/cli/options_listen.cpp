#include "cli/options.hpp"

namespace smg::cli {

void bind_listen(FlagSet& flags, config::Listen& listen) {
  flags.group("Listening");
  flags.text({"--host", "IP", "address of the client port and the probe port"}, listen.host);
  flags.number({"--port", "PORT", "client port"}, listen.port);
  flags.add({{"--health-check-port", "PORT", "extra port that serves only the probes"},
             "off",
             Arity::One,
             [&port = listen.health_check_port](const Words& words) {
               const auto value = to_unsigned(words.front(), 65535);
               if (value == 0) throw ValueError("0 - Port must be > 0");
               port = static_cast<std::uint16_t>(value);
             }});
  flags.number({"--io-threads", "N", "threads that serve connections; 0: one for each processor"},
               listen.io_threads);
  flags.duration({"--header-read-timeout-secs", "SECS", "patience with a request head; 0: endless"},
                 listen.header_read_timeout);
  flags.duration({"--idle-connection-timeout-secs", "SECS",
                  "life of a client connection without a request; 0: endless"},
                 listen.idle_connection_timeout);
  flags.duration({"--shutdown-grace-period-secs", "SECS", "total time that a shutdown may take"},
                 listen.shutdown_grace_period);
  flags.text({"--tls-cert-path", "FILE", "certificate shown to clients, which then must speak TLS"},
             listen.tls_cert_path);
  flags.text({"--tls-key-path", "FILE", "its private key"}, listen.tls_key_path);
  flags.list({"--request-id-headers", "NAME...", "headers searched for a client's request id"},
             listen.request_id_headers);
}

}  // namespace smg::cli
