#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <smg/config/access.hpp>
#include <smg/config/discovery.hpp>
#include <smg/config/router_mode.hpp>
#include <smg/config/routing_tuning.hpp>
#include <smg/config/tracing.hpp>

/// The gateway's settings: plain structs, one per concern, constant after start. Defaults are
/// written here and nowhere else. The flag of a field is named behind it.
namespace smg::config {

using Seconds = std::chrono::seconds;
using Milliseconds = std::chrono::milliseconds;

struct Listen {
  std::string host = "0.0.0.0";         ///< --host, an IP literal
  std::uint16_t port = 30000;           ///< --port
  std::uint16_t health_check_port = 0;  ///< --health-check-port; 0: no probe port
  unsigned io_threads = 0;              ///< --io-threads (ours); 0: one for each processor
  Seconds header_read_timeout{30};      ///< --header-read-timeout-secs (ours); 0: none
  Seconds idle_connection_timeout{75};  ///< --idle-connection-timeout-secs (ours); 0: none
  Seconds shutdown_grace_period{180};   ///< --shutdown-grace-period-secs
  std::string tls_cert_path;            ///< --tls-cert-path, PEM; empty: no TLS
  std::string tls_key_path;             ///< --tls-key-path, PEM
  std::vector<std::string> request_id_headers{"x-request-id", "x-correlation-id", "x-trace-id",
                                              "request-id"};  ///< --request-id-headers
};

struct Limits {
  std::uint64_t max_payload_size = 536870912;          ///< --max-payload-size, bytes
  std::uint64_t max_buffered_request_bytes = 1048576;  ///< --max-buffered-request-bytes
  Seconds stream_body_stall_timeout{300};  ///< --stream-body-stall-timeout-secs; 0: none
  Seconds request_timeout{1800};           ///< --request-timeout-secs
};

struct Upstream {
  Seconds pool_idle_timeout{3};                ///< --upstream-pool-idle-timeout-secs; 0: for ever
  std::uint64_t pool_max_idle_per_host = 500;  ///< only by a worker's http_pool
  Seconds connect_timeout{10};                 ///< only by a worker's http_pool
  bool http2 = false;                          ///< --upstream-http2
  std::vector<std::string> ca_cert_paths;      ///< --ca-cert-paths, PEM, besides the system's
  std::string client_cert_path;                ///< --client-cert-path, PEM
  std::string client_key_path;                 ///< --client-key-path, PEM
  std::vector<std::string> forward_request_headers;  ///< --forward-request-headers (ours)
};

struct Retry {
  bool disabled = false;             ///< --disable-retries
  std::uint32_t max_attempts = 5;    ///< --retry-max-retries; counts attempts, the first included
  Milliseconds initial_backoff{50};  ///< --retry-initial-backoff-ms
  Milliseconds max_backoff{30000};   ///< --retry-max-backoff-ms
  double multiplier = 1.5;           ///< --retry-backoff-multiplier, at least 1
  double jitter = 0.2;               ///< --retry-jitter-factor, 0 to 1

  /// Router retries count as enabled (the page, "How the Router Decides").
  [[nodiscard]] bool enabled() const noexcept { return !disabled && max_attempts > 1; }
};

struct CircuitBreaker {
  bool disabled = false;                 ///< --disable-circuit-breaker
  std::uint32_t failure_threshold = 10;  ///< --cb-failure-threshold
  std::uint32_t success_threshold = 3;   ///< --cb-success-threshold
  Seconds timeout{60};                   ///< --cb-timeout-duration-secs
  Seconds window{120};                   ///< --cb-window-duration-secs; validated, unused
};

struct Health {
  bool disabled = false;                 ///< --disable-health-check
  std::uint32_t failure_threshold = 3;   ///< --health-failure-threshold
  std::uint32_t success_threshold = 2;   ///< --health-success-threshold
  Seconds timeout{5};                    ///< --health-check-timeout-secs
  Seconds interval{60};                  ///< --health-check-interval-secs
  std::string endpoint = "/health";      ///< --health-check-endpoint
  std::optional<bool> remove_unhealthy;  ///< --remove-unhealthy-workers; unset: with discovery
};

struct Fleet {
  std::vector<std::string> worker_urls;              ///< --worker-urls, normalised
  std::map<std::string, std::string> model_aliases;  ///< --model-alias: alias to canonical id
  std::string policy = "cache_aware";                ///< --policy
  bool routing_key_override = false;                 ///< --routing-key-override
  std::vector<std::string> routing_key_headers{"x-smg-routing-key"};  ///< --routing-key-headers
  bool dp_aware = false;                                              ///< --dp-aware
  Seconds startup_timeout{1800};              ///< --worker-startup-timeout-secs
  Seconds startup_delay{0};                   ///< --worker-startup-delay
  Seconds startup_check_interval{30};         ///< --worker-startup-check-interval
  std::uint32_t job_queue_capacity = 1000;    ///< --job-queue-capacity
  std::uint32_t job_queue_concurrency = 200;  ///< --job-queue-concurrency
  std::string state_file;                     ///< --state-file (ours); empty: none
};

/// How many requests run at once. Off as long as `max_concurrent_requests` is not positive.
struct Admission {
  std::int64_t max_concurrent_requests = -1;       ///< --max-concurrent-requests; <= 0: no limit
  std::uint64_t queue_size = 100;                  ///< --queue-size
  Seconds queue_timeout{60};                       ///< --queue-timeout-secs
  std::uint64_t rate_limit_tokens_per_second = 0;  ///< --rate-limit-tokens-per-second; 0: off
};

enum class LogLevel : std::uint8_t { Debug, Info, Warn, Error };

struct Observability {
  LogLevel log_level = LogLevel::Info;      ///< --log-level
  bool log_json = false;                    ///< --log-json
  std::string log_dir;                      ///< --log-dir; empty: standard output only
  std::string prometheus_host = "0.0.0.0";  ///< --prometheus-host
  std::uint16_t prometheus_port = 29000;    ///< --prometheus-port
  /// --prometheus-duration-buckets, seconds, ascending.
  std::vector<double> duration_buckets{0.001, 0.005, 0.01, 0.025, 0.05, 0.1,  0.25, 0.5,  1,   2.5,
                                       5,     10,    15,   30,    45,   60,   90,   120,  180, 240,
                                       300,   480,   900,  1200,  1800, 2700, 3600, 5400, 7200};
};

struct GatewayConfig {
  Listen listen;
  Limits limits;
  Upstream upstream;
  Retry retry;
  CircuitBreaker circuit_breaker;
  Health health;
  Fleet fleet;
  Modes modes;
  Discovery discovery;
  Admission admission;
  Access access;
  CacheAware cache_aware;
  RoutingTuning routing;
  LoadMonitor load_monitor;
  WorkerOverload worker_overload;
  Observability observability;
  Tracing tracing;
};

}  // namespace smg::config
