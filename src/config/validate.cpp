#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include <unistd.h>

#include <smg/base/text.hpp>
#include <smg/config/ip_literal.hpp>
#include <smg/config/issuer_url.hpp>
#include <smg/config/otlp_endpoint.hpp>
#include <smg/config/validate.hpp>
#include <smg/config/worker_url.hpp>

namespace smg::config {
namespace {

constexpr unsigned kMostIoThreads = 1024;

template <class T>
std::string shown(const T& value) {
  std::ostringstream out;
  if constexpr (requires { value.count(); }) {
    out << value.count();
  } else {
    out << value;
  }
  return out.str();
}

/// Collects the problems of one configuration.
class Findings {
 public:
  void add(std::string_view flag, std::string_view value, std::string_view rule) {
    problems_.push_back(std::string(flag) + ": " + std::string(value) + " - " + std::string(rule));
  }

  template <class T>
  void at_least(std::string_view flag, const T& value, const T& least) {
    // Negated, so that a NaN fails.
    if (!(value >= least)) add(flag, shown(value), "Must be >= " + shown(least));
  }

  void finite_at_least(std::string_view flag, double value, double least) {
    if (!std::isfinite(value) || value < least)
      add(flag, shown(value), "Must be >= " + shown(least));
  }

  template <class T>
  void positive(std::string_view flag, const T& value) {
    if (!(value > T{})) add(flag, shown(value), "Must be > 0");
  }

  template <class T>
  void between(std::string_view flag, const T& value, const T& least, const T& most) {
    if (value >= least && value <= most) return;
    add(flag, shown(value), "Must be between " + shown(least) + " and " + shown(most));
  }

  void ip_address(std::string_view flag, std::string_view value) {
    if (!ip_literal(value)) add(flag, value, "Must be an IP address such as 0.0.0.0 or ::1");
  }

  std::vector<std::string> take() { return std::move(problems_); }

 private:
  std::vector<std::string> problems_;
};

/// RFC 9110 5.1: a field name is a token.
bool is_field_name(std::string_view name) {
  constexpr std::string_view kPunctuation = "!#$%&'*+-.^_`|~";
  for (const char c : name) {
    const char l = text::lower(c);
    const bool alphanumeric = (l >= 'a' && l <= 'z') || (c >= '0' && c <= '9');
    if (!alphanumeric && kPunctuation.find(c) == std::string_view::npos) return false;
  }
  return !name.empty();
}

bool is_readable(const std::string& path) {
  return ::access(path.c_str(), R_OK) == 0;
}

/// Fields that frame or address the message on one connection: forwarding a client's value would
/// let it forge the gateway's own.
bool belongs_to_the_connection(std::string_view name) {
  constexpr std::array<std::string_view, 13> kNames{"connection",
                                                    "content-length",
                                                    "expect",
                                                    "host",
                                                    "http2-settings",
                                                    "keep-alive",
                                                    "proxy-authenticate",
                                                    "proxy-authorization",
                                                    "proxy-connection",
                                                    "te",
                                                    "trailer",
                                                    "transfer-encoding",
                                                    "upgrade"};
  for (const auto known : kNames) {
    if (text::equals_ignoring_case(name, known)) return true;
  }
  return false;
}

void check_server_tls(const Listen& listen, Findings& out) {
  if (listen.tls_cert_path.empty() != listen.tls_key_path.empty()) {
    out.add("--tls-cert-path", listen.tls_cert_path,
            "Both --tls-cert-path and --tls-key-path must be specified together");
  }
  if (const auto& path = listen.tls_cert_path; !path.empty() && !is_readable(path)) {
    out.add("--tls-cert-path", path, "Failed to read server certificate from " + path);
  }
  if (const auto& path = listen.tls_key_path; !path.empty() && !is_readable(path)) {
    out.add("--tls-key-path", path, "Failed to read server key from " + path);
  }
}

void check_listen(const Listen& listen, Findings& out) {
  check_server_tls(listen, out);
  out.ip_address("--host", listen.host);
  if (listen.port == 0) out.add("--port", "0", "Port must be > 0");
  out.between("--io-threads", listen.io_threads, 0U, kMostIoThreads);
  for (const auto& name : listen.request_id_headers) {
    if (!is_field_name(name)) out.add("--request-id-headers", name, "Must be a header name");
  }
}

void check_limits(const Limits& limits, Findings& out) {
  out.positive("--max-payload-size", limits.max_payload_size);
  out.positive("--request-timeout-secs", limits.request_timeout);
}

void check_tls_files(const Upstream& upstream, Findings& out) {
  const bool has_cert = !upstream.client_cert_path.empty();
  if (has_cert != !upstream.client_key_path.empty()) {
    out.add("--client-cert-path", upstream.client_cert_path,
            "Both --client-cert-path and --client-key-path must be specified together");
  }
  const auto check = [&out](std::string_view flag, const std::string& path) {
    if (!path.empty() && !is_readable(path)) out.add(flag, path, "Failed to read the file");
  };
  for (const auto& path : upstream.ca_cert_paths) check("--ca-cert-paths", path);
  check("--client-cert-path", upstream.client_cert_path);
  check("--client-key-path", upstream.client_key_path);
}

void check_upstream(const Upstream& upstream, Findings& out) {
  check_tls_files(upstream, out);
  for (const auto& name : upstream.forward_request_headers) {
    if (!is_field_name(name)) {
      out.add("--forward-request-headers", name, "Must be a header name");
    } else if (belongs_to_the_connection(name)) {
      out.add("--forward-request-headers", name, "Must not be a header of the connection itself");
    } else if (text::equals_ignoring_case(name, "accept") ||
               text::equals_ignoring_case(name, "content-type")) {
      out.add("--forward-request-headers", name,
              "Must not be a header that the gateway itself sets");
    }
  }
}

/// What is switched off needs no sound settings, here and below.
void check_retry(const Retry& retry, Findings& out) {
  if (retry.disabled) return;
  if (retry.max_attempts == 0) {
    out.add("--retry-max-retries", "0", "Must be >= 1 (1 means no retry)");
  }
  out.positive("--retry-initial-backoff-ms", retry.initial_backoff);
  if (retry.max_backoff < retry.initial_backoff) {
    out.add("--retry-max-backoff-ms", shown(retry.max_backoff),
            "Must be >= --retry-initial-backoff-ms (" + shown(retry.initial_backoff) + ")");
  }
  if (!std::isfinite(retry.multiplier) || retry.multiplier < 1.0) {
    out.add("--retry-backoff-multiplier", shown(retry.multiplier), "Must be >= 1.0");
  }
  out.between("--retry-jitter-factor", retry.jitter, 0.0, 1.0);
}

void check_circuit_breaker(const CircuitBreaker& breaker, Findings& out) {
  if (breaker.disabled) return;
  out.at_least("--cb-failure-threshold", breaker.failure_threshold, 1U);
  out.at_least("--cb-success-threshold", breaker.success_threshold, 1U);
  out.positive("--cb-timeout-duration-secs", breaker.timeout);
  out.positive("--cb-window-duration-secs", breaker.window);
}

/// The endpoint becomes part of a request line.
bool is_request_path(std::string_view path) {
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= 0x20 || byte >= 0x7F || c == '#') return false;
  }
  return path.starts_with('/');
}

void check_health(const Health& health, Findings& out) {
  out.at_least("--health-failure-threshold", health.failure_threshold, 1U);
  out.at_least("--health-success-threshold", health.success_threshold, 1U);
  out.at_least("--health-check-timeout-secs", health.timeout, Seconds{1});
  out.at_least("--health-check-interval-secs", health.interval, Seconds{1});
  if (!is_request_path(health.endpoint)) {
    out.add("--health-check-endpoint", health.endpoint, "Must be a path that starts with /");
  }
}

void check_worker_url(std::string_view flag, const std::string& text, Findings& out) {
  const auto url = parse_worker_url(text);
  if (!url) {
    out.add(flag, without_user_info(text), url.error().message);
  } else if (url->scheme != "http" && url->scheme != "https") {
    out.add(flag, url->text, url->scheme + ":// is not supported yet");
  }
}

void check_fleet(const Fleet& fleet, bool all_are_named, std::size_t built_in_workers,
                 Findings& out) {
  for (const auto& text : fleet.worker_urls) check_worker_url("--worker-urls", text, out);
  if (all_are_named && fleet.policy == "power_of_two" &&
      fleet.worker_urls.size() + built_in_workers < 2) {
    out.add("--policy", fleet.policy, "Needs at least 2 workers in --worker-urls");
  }
  for (const auto& name : fleet.routing_key_headers) {
    if (!is_field_name(name)) out.add("--routing-key-headers", name, "Must be a header name");
  }
  for (const auto& [alias, canonical] : fleet.model_aliases) {
    if (alias.empty() || canonical.empty()) {
      out.add("--model-alias", alias + "=" + canonical, "Must be <alias>=<canonical>");
    } else if (alias == canonical) {
      out.add("--model-alias", alias + "=" + canonical, "The alias is the model's own name");
    }
  }
  out.positive("--worker-startup-timeout-secs", fleet.startup_timeout);
  out.positive("--worker-startup-check-interval", fleet.startup_check_interval);
  out.between("--job-queue-capacity", fleet.job_queue_capacity, 1U, 1000000U);
  out.between("--job-queue-concurrency", fleet.job_queue_concurrency, 1U, 100000U);
}

/// A worker is registered once, in one role.
void check_shared_urls(const Fleet& fleet, const Modes& modes, Findings& out) {
  std::set<std::string_view> urls(fleet.worker_urls.begin(), fleet.worker_urls.end());
  const auto check = [&](std::string_view flag, const std::string& url) {
    check_worker_url(flag, url, out);
    if (!urls.insert(url).second) {
      out.add(flag, without_user_info(url), "The worker is named twice");
    }
  };
  for (const auto& worker : modes.prefill) check("--prefill", worker.url);
  for (const auto& url : modes.decode) check("--decode", url);
}

void check_modes(const Fleet& fleet, const Modes& modes, std::size_t built_in_workers,
                 Findings& out) {
  check_shared_urls(fleet, modes, out);
  constexpr std::string_view kSwitch = "Needs --pd-disaggregation";
  constexpr std::string_view kEitherSwitch = "Needs --pd-disaggregation or --enable-igw";
  const bool shares = modes.prefill_decode || modes.multi_model;
  if (!modes.prefill_decode && !modes.prefill.empty()) {
    out.add("--prefill", without_user_info(modes.prefill.front().url), kSwitch);
  }
  if (!modes.prefill_decode && !modes.decode.empty()) {
    out.add("--decode", without_user_info(modes.decode.front()), kSwitch);
  }
  if (!shares && !modes.prefill_policy.empty()) {
    out.add("--prefill-policy", modes.prefill_policy, kEitherSwitch);
  }
  if (!shares && !modes.decode_policy.empty()) {
    out.add("--decode-policy", modes.decode_policy, kEitherSwitch);
  }
  if (modes.router() != RouterMode::PrefillDecode) return;
  if (built_in_workers > 0) {
    out.add("--pd-disaggregation", "on", "The built-in workers do not share requests");
  }
  if (!fleet.worker_urls.empty()) {
    out.add("--worker-urls", without_user_info(fleet.worker_urls.front()),
            "Under --pd-disaggregation, workers are named by --prefill and --decode");
  }
}

void check_admission(const Admission& admission, Findings& out) {
  if (admission.queue_size > 0 && admission.queue_timeout == Seconds{0}) {
    out.add("--queue-timeout-secs", "0", "Must be > 0 while --queue-size is");
  }
}

/// Without them no call of the API server can succeed. On this machine, `kubectl proxy` needs none.
void check_cluster_files(const Discovery& discovery, Findings& out) {
  for (const auto& [flag, path] :
       {std::pair{"--kubernetes-token-path", &discovery.token_path},
        std::pair{"--kubernetes-ca-cert-path", &discovery.ca_cert_path}}) {
    if (!is_readable(*path)) out.add(flag, *path, "Failed to read the file");
  }
}

/// Selectors that nobody would look at.
void check_selectors(const Discovery& discovery, const Modes& modes, Findings& out) {
  const bool shares = modes.prefill_decode || modes.multi_model;
  const auto check = [&](std::string_view flag, const PodSelector& selector, bool looked_at,
                         std::string_view rule) {
    if (selector.empty()) return;
    const auto& label = selector.begin()->first;
    if (!discovery.enabled) out.add(flag, label, "Needs --service-discovery");
    if (discovery.enabled && !looked_at) out.add(flag, label, rule);
  };
  check("--selector", discovery.selector, modes.router() != RouterMode::PrefillDecode,
        "Under --pd-disaggregation, pods are found by --prefill-selector and --decode-selector");
  for (const auto& [flag, selector] :
       {std::pair{"--prefill-selector", &discovery.prefill_selector},
        std::pair{"--decode-selector", &discovery.decode_selector}}) {
    check(flag, *selector, shares, "Needs --pd-disaggregation or --enable-igw");
  }
  if (!discovery.enabled) return;
  if (discovery.selector.empty() && discovery.prefill_selector.empty() &&
      discovery.decode_selector.empty()) {
    out.add("--service-discovery", "on", "Needs --selector: not every pod is a worker");
  }
}

void check_api_server(const Discovery& discovery, Findings& out) {
  if (discovery.api_url.empty()) {
    out.add("--service-discovery", "on", "Needs --kubernetes-api-url outside of a cluster");
    return;
  }
  const auto url = parse_issuer_url(discovery.api_url);
  if (!url || url->target != "/") {
    out.add("--kubernetes-api-url", without_user_info(discovery.api_url),
            url ? "Must not have a path" : url.error().message);
  } else if (url->server.scheme == "https") {
    check_cluster_files(discovery, out);
  }
}

void check_discovery(const Discovery& discovery, const Modes& modes, Findings& out) {
  check_selectors(discovery, modes, out);
  if (!discovery.enabled) {
    if (discovery.model_id_from != ModelIdSource{}) {
      out.add("--model-id-from", discovery.model_id_from.key, "Needs --service-discovery");
    }
    return;
  }
  if (discovery.port == 0) out.add("--service-discovery-port", "0", "Port must be > 0");
  if (const auto& name = discovery.pod_namespace; !name.empty() && !is_namespace(name)) {
    out.add("--service-discovery-namespace", name, "Must be the name of a namespace");
  }
  check_api_server(discovery, out);
}

/// A key becomes part of a field line, where a blank would end it.
bool can_be_presented(std::string_view key) {
  return std::ranges::all_of(key, [](char c) { return c > ' ' && c <= '~'; });
}

/// An origin as browsers spell it, since it is compared byte for byte: no path, nothing in upper
/// case.
bool is_origin(std::string_view text) {
  if (text == "*") return true;
  const auto separator = text.find("://");
  if (separator == std::string_view::npos || separator == 0) return false;
  const auto authority = text.substr(separator + 3);
  return !authority.empty() && can_be_presented(text) && text == text::to_lower(text) &&
         authority.find_first_of("/?#@*,") == std::string_view::npos;
}

void check_control_keys(const std::vector<ControlKey>& keys, Findings& out) {
  constexpr std::string_view kFlag = "--control-plane-api-keys";
  for (auto key = keys.begin(); key != keys.end(); ++key) {
    if (key->id.empty()) out.add(kFlag, key->name, "The id must not be empty");
    if (!can_be_presented(key->key)) {
      out.add(kFlag, key->id, "The key must be printable ASCII without blanks");
    }
    const auto same = std::find_if(keys.begin(), key, [&](const ControlKey& other) {
      return other.id == key->id || other.key == key->key;
    });
    if (same != key) out.add(kFlag, key->id, "Has the id or the key of " + same->id);
  }
}

/// Half a configuration must not leave the control plane open (ruling 27).
void check_tokens(const Access& access, Findings& out) {
  const bool wanted = !access.jwt_issuer.empty() || !access.jwt_audience.empty() ||
                      !access.jwt_jwks_uri.empty() || !access.jwt_roles.empty();
  if (!wanted) return;
  if (access.jwt_issuer.empty()) out.add("--jwt-issuer", "none", "Must be set for tokens");
  if (access.jwt_audience.empty()) out.add("--jwt-audience", "none", "Must be set for tokens");
  const bool discovers = access.jwt_jwks_uri.empty();
  const auto& fetched_from = discovers ? access.jwt_issuer : access.jwt_jwks_uri;
  if (fetched_from.empty()) return;
  if (const auto url = parse_issuer_url(fetched_from); !url) {
    out.add(discovers ? "--jwt-issuer" : "--jwt-jwks-uri", without_user_info(fetched_from),
            url.error().message);
  }
}

void check_access(const Access& access, Findings& out) {
  if (!can_be_presented(access.api_key)) {
    out.add("--api-key", "(not shown)", "Must be printable ASCII without blanks");
  }
  check_control_keys(access.control_keys, out);
  check_tokens(access, out);
  for (const auto& origin : access.cors_allowed_origins) {
    if (is_origin(origin)) continue;
    out.add("--cors-allowed-origins", origin,
            "Must be * or scheme://host[:port] as browsers send it, in lower case, without a path");
  }
}

void check_boundaries(const std::vector<std::uint64_t>& boundaries, Findings& out) {
  constexpr std::string_view kFlag = "--cache-boundaries";
  if (!boundaries.empty() && boundaries.front() == 0) out.add(kFlag, "0", "Must be > 0");
  for (std::size_t i = 1; i < boundaries.size(); ++i) {
    if (boundaries[i] > boundaries[i - 1]) continue;
    out.add(kFlag, shown(boundaries[i]), "Must ascend");
    break;
  }
}

void check_cache_aware(const CacheAware& cache, Findings& out) {
  out.between("--cache-threshold", cache.match_threshold, 0.0, 1.0);
  out.at_least("--balance-rel-threshold", cache.balance_rel_threshold, 1.0);
  out.positive("--balance-token-usage-threshold", cache.balance_token_usage_threshold);
  out.positive("--overload-token-usage-threshold", cache.overload_token_usage_threshold);
  out.at_least("--overlap-decay", cache.overlap_decay, 0.0);
  out.at_least("--selection-temperature", cache.selection_temperature, 0.0);
  out.positive("--eviction-interval-secs", cache.eviction_interval);
  out.positive("--max-tree-size", cache.max_tree_size);
  out.positive("--block-size", cache.block_size);
  check_boundaries(cache.boundaries, out);
  if (cache.index == "hash" && cache.boundaries.empty()) {
    out.add("--cache-index", cache.index, "Needs --cache-boundaries");
  }
  out.positive("--cache-ttl-secs", cache.ttl);
}

void check_prefix_hash(const PrefixHash& prefix, Findings& out) {
  out.positive("--prefix-token-count", prefix.token_count);
  out.finite_at_least("--prefix-hash-load-factor", prefix.load_factor, 1.0);
}

void check_least_load(const LeastLoad& least, Findings& out) {
  out.finite_at_least("--least-load-kv-pressure-weight", least.kv_pressure_weight, 0.0);
  out.positive("--least-load-default-throughput", least.default_throughput);
  out.positive("--least-load-mean-prefill-tokens", least.mean_prefill_tokens);
}

void check_worker_overload(const WorkerOverload& overload, Findings& out) {
  if (overload.waiting_requests == 0U) {
    out.add("--worker-overload-waiting-requests", "0", "Must be >= 1");
  }
  const double usage = overload.token_usage.value_or(1.0);
  if (!(usage > 0 && usage <= 1)) {
    out.add("--worker-overload-token-usage", shown(usage), "Must be > 0 and <= 1");
  }
}

void check_buckets(const std::vector<double>& bounds, Findings& out) {
  constexpr std::string_view kFlag = "--prometheus-duration-buckets";
  if (bounds.empty()) out.add(kFlag, "none", "Must name at least one bound");
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (!std::isfinite(bounds[i]) || bounds[i] <= 0) {
      out.add(kFlag, shown(bounds[i]), "Must be a finite number > 0");
    } else if (i > 0 && bounds[i] <= bounds[i - 1]) {
      out.add(kFlag, shown(bounds[i]), "Must ascend");
    }
  }
}

void check_observability(const Observability& observability, Findings& out) {
  if (observability.prometheus_port == 0) out.add("--prometheus-port", "0", "Port must be > 0");
  out.ip_address("--prometheus-host", observability.prometheus_host);
  check_buckets(observability.duration_buckets, out);
}

void check_tracing(const Tracing& tracing, Findings& out) {
  if (!tracing.enabled) return;
  const auto endpoint = parse_otlp_endpoint(tracing.otlp_endpoint);
  if (!endpoint) {
    out.add("--otlp-traces-endpoint", without_user_info(tracing.otlp_endpoint),
            endpoint.error().message);
  }
}

bool is_wildcard(std::string_view host) {
  return host == "0.0.0.0" || host == "::";
}

bool overlap(std::string_view a, std::string_view b) {
  return a == b || is_wildcard(a) || is_wildcard(b);
}

/// The second listener on a port cannot bind.
void check_ports(const GatewayConfig& config, Findings& out) {
  const auto& listen = config.listen;
  const auto& metrics = config.observability;
  const auto probe_port = listen.health_check_port;
  if (probe_port != 0 && probe_port == listen.port) {
    out.add("--health-check-port", shown(probe_port), "Must differ from --port");
  }
  if (metrics.prometheus_port == 0 || !overlap(listen.host, metrics.prometheus_host)) return;
  for (const auto& [flag, port] :
       {std::pair{"--port", listen.port}, std::pair{"--health-check-port", probe_port}}) {
    if (port != metrics.prometheus_port) continue;
    out.add("--prometheus-port", shown(port), std::string("Must differ from ") + flag);
  }
}

/// The tuning of these policies, each in any case, with `_` or without.
void check_tuning(const GatewayConfig& config, std::initializer_list<std::string_view> policies,
                  Findings& out) {
  const auto uses = [&](std::string_view plain) {
    return std::ranges::any_of(policies, [&](std::string_view policy) {
      std::string name = text::to_lower(policy);
      std::erase(name, '_');
      return name == plain;
    });
  };
  if (uses("cacheaware")) check_cache_aware(config.cache_aware, out);
  if (uses("prefixhash")) {
    check_boundaries(config.cache_aware.boundaries, out);
    check_prefix_hash(config.routing.prefix_hash, out);
  }
}

}  // namespace

std::vector<std::string> tuning_problems(const GatewayConfig& config, std::string_view policy) {
  Findings out;
  check_tuning(config, {policy}, out);
  return out.take();
}

std::vector<std::string> validate(const GatewayConfig& config, std::size_t built_in_workers) {
  Findings out;
  check_listen(config.listen, out);
  check_limits(config.limits, out);
  check_upstream(config.upstream, out);
  check_retry(config.retry, out);
  check_circuit_breaker(config.circuit_breaker, out);
  check_health(config.health, out);
  const bool all_are_named =
      config.modes.router() == RouterMode::Regular && !config.discovery.enabled;
  check_fleet(config.fleet, all_are_named, built_in_workers, out);
  check_modes(config.fleet, config.modes, built_in_workers, out);
  check_discovery(config.discovery, config.modes, out);
  out.positive("--bucket-adjust-interval-secs", config.routing.bucket.adjust_interval);
  check_admission(config.admission, out);
  check_access(config.access, out);
  check_tuning(config,
               {config.fleet.policy, config.modes.prefill_policy, config.modes.decode_policy}, out);
  check_least_load(config.routing.least_load, out);
  out.positive("--load-monitor-interval", config.load_monitor.interval);
  check_worker_overload(config.worker_overload, out);
  check_observability(config.observability, out);
  check_tracing(config.tracing, out);
  check_ports(config, out);
  return out.take();
}

}  // namespace smg::config
