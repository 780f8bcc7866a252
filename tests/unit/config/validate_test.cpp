#include <cmath>
#include <functional>
#include <limits>
#include <span>

#include <gtest/gtest.h>

#include <smg/config/normalise.hpp>
#include <smg/config/validate.hpp>

namespace smg::config {
namespace {

using Change = std::function<void(GatewayConfig&)>;

GatewayConfig changed(const Change& change) {
  GatewayConfig config;
  change(config);
  return config;
}

TEST(Validate, DefaultsAreSound) {
  EXPECT_EQ(validate({}), std::vector<std::string>{});
}

struct Refusal {
  std::string_view problem;
  Change change;
};

void expect_refused(std::span<const Refusal> cases) {
  for (const auto& test : cases) {
    const auto problems = validate(changed(test.change));
    ASSERT_EQ(problems.size(), 1U) << test.problem;
    EXPECT_TRUE(problems[0].starts_with(test.problem)) << problems[0] << "\n" << test.problem;
  }
}

const double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Validate, RefusesBadListeners) {
  const Refusal kCases[] = {
      {"--host: localhost - Must be an IP", [](auto& c) { c.listen.host = "localhost"; }},
      {"--host:  - Must be an IP", [](auto& c) { c.listen.host = ""; }},
      {"--port: 0 - Port must be > 0", [](auto& c) { c.listen.port = 0; }},
      {"--io-threads: 1025 - Must be between", [](auto& c) { c.listen.io_threads = 1025; }},
      {"--request-id-headers: bad header -",
       [](auto& c) { c.listen.request_id_headers = {"x-ok", "bad header"}; }},
      {"--request-id-headers:  -", [](auto& c) { c.listen.request_id_headers = {""}; }},
      {"--health-check-port: 30000 - Must differ from --port",
       [](auto& c) { c.listen.health_check_port = 30000; }},
      {"--prometheus-port: 30000 - Must differ from --port",
       [](auto& c) { c.observability.prometheus_port = 30000; }},
      {"--prometheus-port: 29000 - Must differ from --health-check-port",
       [](auto& c) { c.listen.health_check_port = 29000; }},
      {"--prometheus-port: 0 - Port", [](auto& c) { c.observability.prometheus_port = 0; }},
      {"--prometheus-host: nonsense -",
       [](auto& c) { c.observability.prometheus_host = "nonsense"; }},
  };
  expect_refused(kCases);
}

TEST(Validate, RefusesHalfOrUnreadableTls) {
  const Refusal kCases[] = {
      {"--tls-cert-path: /dev/null - Both --tls-cert-path and --tls-key-path",
       [](auto& c) { c.listen.tls_cert_path = "/dev/null"; }},
      {"--tls-cert-path:  - Both --tls-cert-path and --tls-key-path",
       [](auto& c) { c.listen.tls_key_path = "/dev/null"; }},
      {"--tls-cert-path: /nonexistent - Failed to read server certificate from /nonexistent",
       [](auto& c) {
         c.listen.tls_cert_path = "/nonexistent";
         c.listen.tls_key_path = "/dev/null";
       }},
      {"--tls-key-path: /nonexistent - Failed to read server key from /nonexistent",
       [](auto& c) {
         c.listen.tls_cert_path = "/dev/null";
         c.listen.tls_key_path = "/nonexistent";
       }},
  };
  expect_refused(kCases);
}

TEST(Validate, RefusesBadLimitsAndHeaders) {
  const Refusal kCases[] = {
      {"--max-payload-size: 0 - Must be > 0", [](auto& c) { c.limits.max_payload_size = 0; }},
      {"--request-timeout-secs: 0 -", [](auto& c) { c.limits.request_timeout = Seconds{0}; }},
      {"--queue-timeout-secs: 0 -", [](auto& c) { c.admission.queue_timeout = Seconds{0}; }},
      {"--api-key: (not shown) -", [](auto& c) { c.access.api_key = "a b"; }},
      {"--jwt-issuer: none -",
       [](auto& c) {
         c.access.jwt_audience = "a";
         c.access.jwt_jwks_uri = "https://i/keys";
       }},
      {"--jwt-audience: none -", [](auto& c) { c.access.jwt_issuer = "https://i"; }},
      {"--jwt-issuer: http://i - must be https",
       [](auto& c) {
         c.access.jwt_issuer = "http://i";
         c.access.jwt_audience = "a";
       }},
      {"--jwt-jwks-uri: http://i/keys - must be https",
       [](auto& c) {
         c.access.jwt_issuer = "any name";
         c.access.jwt_audience = "a";
         c.access.jwt_jwks_uri = "http://i/keys";
       }},
      {"--cors-allowed-origins: http://a/ -",
       [](auto& c) { c.access.cors_allowed_origins = {"*", "http://a:8", "http://a/"}; }},
      {"--cors-allowed-origins: http://A -",
       [](auto& c) { c.access.cors_allowed_origins = {"http://A"}; }},
      {"--cors-allowed-origins: a.test -",
       [](auto& c) { c.access.cors_allowed_origins = {"a.test"}; }},
      {"--cors-allowed-origins: http://*.a -",
       [](auto& c) { c.access.cors_allowed_origins = {"http://*.a"}; }},
      {"--api-key: (not shown) -", [](auto& c) { c.access.api_key = "a\nb"; }},
      {"--api-key: (not shown) -", [](auto& c) { c.access.api_key = "gr\xC3\xBC"; }},
      {"--forward-request-headers: a: -",
       [](auto& c) { c.upstream.forward_request_headers = {"a:"}; }},
      {"--forward-request-headers: Transfer-Encoding -",
       [](auto& c) { c.upstream.forward_request_headers = {"Transfer-Encoding"}; }},
      {"--forward-request-headers: Accept - Must not be a header that the gateway itself sets",
       [](auto& c) { c.upstream.forward_request_headers = {"Accept"}; }},
      {"--forward-request-headers: content-type -",
       [](auto& c) { c.upstream.forward_request_headers = {"content-type"}; }},
      {"--forward-request-headers: content-length -",
       [](auto& c) { c.upstream.forward_request_headers = {"content-length", "x-fine"}; }},
  };
  expect_refused(kCases);
}

TEST(Validate, RefusesBadResilience) {
  const Refusal kCases[] = {
      {"--retry-max-retries: 0 - Must be >= 1", [](auto& c) { c.retry.max_attempts = 0; }},
      {"--retry-initial-backoff-ms: 0 -",
       [](auto& c) { c.retry.initial_backoff = Milliseconds{0}; }},
      {"--retry-max-backoff-ms: 1 -", [](auto& c) { c.retry.max_backoff = Milliseconds{1}; }},
      {"--retry-backoff-multiplier: 0.5 -", [](auto& c) { c.retry.multiplier = 0.5; }},
      {"--retry-backoff-multiplier: nan -", [](auto& c) { c.retry.multiplier = kNan; }},
      {"--retry-backoff-multiplier: inf -", [](auto& c) { c.retry.multiplier = HUGE_VAL; }},
      {"--retry-jitter-factor: 1.5 -", [](auto& c) { c.retry.jitter = 1.5; }},
      {"--retry-jitter-factor: -0.1 -", [](auto& c) { c.retry.jitter = -0.1; }},
      {"--retry-jitter-factor: nan -", [](auto& c) { c.retry.jitter = kNan; }},
      {"--cb-failure-threshold: 0 -", [](auto& c) { c.circuit_breaker.failure_threshold = 0; }},
      {"--cb-success-threshold: 0 -", [](auto& c) { c.circuit_breaker.success_threshold = 0; }},
      {"--cb-timeout-duration-secs: 0 -", [](auto& c) { c.circuit_breaker.timeout = Seconds{0}; }},
      {"--cb-window-duration-secs: 0 -", [](auto& c) { c.circuit_breaker.window = Seconds{0}; }},
      {"--health-failure-threshold: 0 -", [](auto& c) { c.health.failure_threshold = 0; }},
      {"--health-success-threshold: 0 -", [](auto& c) { c.health.success_threshold = 0; }},
      {"--health-check-timeout-secs: 0 -", [](auto& c) { c.health.timeout = Seconds{0}; }},
      {"--health-check-interval-secs: 0 -", [](auto& c) { c.health.interval = Seconds{0}; }},
      {"--health-check-endpoint: health -", [](auto& c) { c.health.endpoint = "health"; }},
      {"--health-check-endpoint: /a b -", [](auto& c) { c.health.endpoint = "/a b"; }},
      {"--health-check-endpoint: /\r\n -", [](auto& c) { c.health.endpoint = "/\r\n"; }},
  };
  expect_refused(kCases);
}

TEST(Validate, RefusesContradictingModes) {
  const Refusal kCases[] = {
      {"--prefill: http://a - Needs --pd-disaggregation",
       [](auto& c) { c.modes.prefill = {{"http://a", 1}}; }},
      {"--decode: http://a - Needs --pd-disaggregation",
       [](auto& c) {
         c.modes.multi_model = true;
         c.modes.decode = {"http://a"};
       }},
      {"--prefill-policy: random - Needs --pd-disaggregation or --enable-igw",
       [](auto& c) { c.modes.prefill_policy = "random"; }},
      {"--decode-policy: random - Needs --pd-disaggregation or --enable-igw",
       [](auto& c) { c.modes.decode_policy = "random"; }},
      {"--decode: http://a - The worker is named twice",
       [](auto& c) {
         c.modes.prefill_decode = true;
         c.modes.prefill = {{"http://a", 1}};
         c.modes.decode = {"http://a"};
       }},
      {"--prefill: grpc://a - grpc:// is not supported yet",
       [](auto& c) {
         c.modes.prefill_decode = true;
         c.modes.prefill = {{"grpc://a", {}}};
       }},
      {"--worker-urls: http://a - Under --pd-disaggregation",
       [](auto& c) {
         c.modes.prefill_decode = true;
         c.fleet.worker_urls = {"http://a"};
       }},
      {"--bucket-adjust-interval-secs: 0 -",
       [](auto& c) { c.routing.bucket.adjust_interval = Seconds{0}; }},
  };
  expect_refused(kCases);
}

TEST(Validate, RefusesBadFleets) {
  const Refusal kCases[] = {
      {"--worker-urls: ftp://h - URL must start",
       [](auto& c) { c.fleet.worker_urls = {"http://a", "ftp://h"}; }},
      {"--worker-urls: http://***@h - user info",
       [](auto& c) { c.fleet.worker_urls = {"http://u:secret@h"}; }},
      {"--worker-urls: grpc://h - grpc:// is not supported yet",
       [](auto& c) { c.fleet.worker_urls = {"grpc://h"}; }},
      {"--worker-urls: grpc://h - grpc:// is not supported yet",
       [](auto& c) { c.fleet.worker_urls = {"grpc://h"}; }},
      {"--policy: power_of_two - Needs at least 2 workers",
       [](auto& c) {
         c.fleet.policy = "power_of_two";
         c.fleet.worker_urls = {"http://a"};
       }},
      {"--routing-key-headers: bad header - Must be a header name",
       [](auto& c) { c.fleet.routing_key_headers = {"x-fine", "bad header"}; }},
      {"--model-alias: =m -", [](auto& c) { c.fleet.model_aliases = {{"", "m"}}; }},
      {"--model-alias: a= -", [](auto& c) { c.fleet.model_aliases = {{"a", ""}}; }},
      {"--model-alias: a=a -", [](auto& c) { c.fleet.model_aliases = {{"a", "a"}}; }},
      {"--worker-startup-timeout-secs: 0", [](auto& c) { c.fleet.startup_timeout = Seconds{0}; }},
      {"--worker-startup-check-interval: 0",
       [](auto& c) { c.fleet.startup_check_interval = Seconds{0}; }},
      {"--job-queue-capacity: 0 - Must be between 1 and 1000000",
       [](auto& c) { c.fleet.job_queue_capacity = 0; }},
      {"--job-queue-capacity: 1000001 -", [](auto& c) { c.fleet.job_queue_capacity = 1000001; }},
      {"--job-queue-concurrency: 100001 -",
       [](auto& c) { c.fleet.job_queue_concurrency = 100001; }},
      {"--load-monitor-interval: 0 -", [](auto& c) { c.load_monitor.interval = Seconds{0}; }},
      {"--worker-overload-waiting-requests: 0 -",
       [](auto& c) { c.worker_overload.waiting_requests = 0; }},
      {"--worker-overload-token-usage: 1.5 -",
       [](auto& c) { c.worker_overload.token_usage = 1.5; }},
  };
  expect_refused(kCases);
}

const Refusal kCacheAwareCases[] = {
    {"--cache-threshold: 1.5 -", [](auto& c) { c.cache_aware.match_threshold = 1.5; }},
    {"--cache-threshold: nan -", [](auto& c) { c.cache_aware.match_threshold = kNan; }},
    {"--balance-rel-threshold: 0.5 -", [](auto& c) { c.cache_aware.balance_rel_threshold = 0.5; }},
    {"--balance-token-usage-threshold: 0 -",
     [](auto& c) { c.cache_aware.balance_token_usage_threshold = 0; }},
    {"--overload-token-usage-threshold: 0 -",
     [](auto& c) { c.cache_aware.overload_token_usage_threshold = 0; }},
    {"--overlap-decay: -1 -", [](auto& c) { c.cache_aware.overlap_decay = -1; }},
    {"--selection-temperature: -1 -", [](auto& c) { c.cache_aware.selection_temperature = -1; }},
    {"--eviction-interval-secs: 0 -",
     [](auto& c) { c.cache_aware.eviction_interval = Seconds{0}; }},
    {"--max-tree-size: 0 -", [](auto& c) { c.cache_aware.max_tree_size = 0; }},
    {"--block-size: 0 -", [](auto& c) { c.cache_aware.block_size = 0; }},
    {"--cache-boundaries: 1 - Must ascend", [](auto& c) { c.cache_aware.boundaries = {2, 1}; }},
    {"--cache-boundaries: 0 - Must be > 0", [](auto& c) { c.cache_aware.boundaries = {0, 1}; }},
    {"--cache-index: hash - Needs --cache-boundaries",
     [](auto& c) { c.cache_aware.index = "hash"; }},
    {"--cache-ttl-secs: 0 -", [](auto& c) { c.cache_aware.ttl = Seconds{0}; }},
};

TEST(Validate, RefusesBadTuningOfCacheAware) {
  expect_refused(kCacheAwareCases);
}

TEST(Validate, IgnoresTheTuningOfAnotherPolicy) {
  for (const auto& test : kCacheAwareCases) {
    auto config = changed(test.change);
    config.fleet.policy = "random";
    EXPECT_TRUE(validate(config).empty()) << test.problem;
  }
}

const Refusal kPrefixHashCases[] = {
    {"--prefix-token-count: 0 - Must be > 0",
     [](auto& c) { c.routing.prefix_hash.token_count = 0; }},
    {"--prefix-hash-load-factor: 0.9 - Must be >= 1",
     [](auto& c) { c.routing.prefix_hash.load_factor = 0.9; }},
    {"--prefix-hash-load-factor: nan -", [](auto& c) { c.routing.prefix_hash.load_factor = kNan; }},
    {"--prefix-hash-load-factor: inf -",
     [](auto& c) { c.routing.prefix_hash.load_factor = HUGE_VAL; }},
    {"--cache-boundaries: 1 - Must ascend", [](auto& c) { c.cache_aware.boundaries = {2, 1}; }},
    {"--cache-boundaries: 0 - Must be > 0", [](auto& c) { c.cache_aware.boundaries = {0}; }},
};

TEST(Validate, RefusesBadTuningOfPrefixHashUnderThatPolicy) {
  for (const auto& test : kPrefixHashCases) {
    auto config = changed(test.change);
    config.fleet.policy = "prefix_hash";
    const auto problems = validate(config);
    ASSERT_EQ(problems.size(), 1U) << test.problem;
    EXPECT_TRUE(problems[0].starts_with(test.problem)) << problems[0] << "\n" << test.problem;
    config.fleet.policy = "random";
    EXPECT_TRUE(validate(config).empty()) << test.problem;
  }
}

TEST(Validate, RefusesBadTuningOfLeastLoad) {
  const Refusal kCases[] = {
      {"--least-load-kv-pressure-weight: -1 - Must be >= 0",
       [](auto& c) { c.routing.least_load.kv_pressure_weight = -1; }},
      {"--least-load-kv-pressure-weight: inf -",
       [](auto& c) { c.routing.least_load.kv_pressure_weight = HUGE_VAL; }},
      {"--least-load-default-throughput: 0 - Must be > 0",
       [](auto& c) { c.routing.least_load.default_throughput = 0; }},
      {"--least-load-mean-prefill-tokens: nan - Must be > 0",
       [](auto& c) { c.routing.least_load.mean_prefill_tokens = kNan; }},
  };
  expect_refused(kCases);
}

TEST(Validate, RefusesBadBuckets) {
  const Refusal kCases[] = {
      {"--prometheus-duration-buckets: none -",
       [](auto& c) { c.observability.duration_buckets = {}; }},
      {"--prometheus-duration-buckets: 1 - Must ascend",
       [](auto& c) { c.observability.duration_buckets = {5, 1}; }},
      {"--prometheus-duration-buckets: 1 - Must ascend",
       [](auto& c) { c.observability.duration_buckets = {1, 1}; }},
      {"--prometheus-duration-buckets: 0 -",
       [](auto& c) { c.observability.duration_buckets = {0, 1}; }},
      {"--prometheus-duration-buckets: nan -",
       [](auto& c) { c.observability.duration_buckets = {kNan}; }},
      {"--prometheus-duration-buckets: inf -",
       [](auto& c) { c.observability.duration_buckets = {1, HUGE_VAL}; }},
  };
  expect_refused(kCases);
}

TEST(Validate, RefusesBadCollectorsWhereTracesAreWanted) {
  for (const std::string endpoint : {"", "bad", ":1", "h:0", "h:65536", "http://h:1", "u:p@h:1"}) {
    EXPECT_EQ(validate(changed([&](auto& c) { c.tracing.otlp_endpoint = endpoint; })),
              std::vector<std::string>{});
    const auto problems = validate(changed([&](auto& c) { c.tracing = {true, endpoint}; }));
    ASSERT_EQ(problems.size(), 1U) << endpoint;
    EXPECT_TRUE(problems[0].starts_with("--otlp-traces-endpoint: ")) << problems[0];
    EXPECT_EQ(problems[0].find("u:p"), std::string::npos) << problems[0];
  }
  EXPECT_EQ(validate(changed([](auto& c) { c.tracing.enabled = true; })),
            std::vector<std::string>{});
}

TEST(Validate, AcceptsBoundaries) {
  const Change kCases[] = {
      [](auto& c) { c.retry.max_attempts = 1; },
      [](auto& c) { c.retry = {true, 0, Milliseconds{0}, Milliseconds{0}, 0.5, kNan}; },
      [](auto& c) { c.circuit_breaker = {true, 0, 0, Seconds{0}, Seconds{0}}; },
      [](auto& c) { c.retry.jitter = 1; },
      [](auto& c) { c.limits.max_buffered_request_bytes = 0; },
      [](auto& c) { c.limits.max_buffered_request_bytes = 1000000000000; },
      [](auto& c) { c.limits.stream_body_stall_timeout = Seconds{0}; },
      [](auto& c) { c.upstream.pool_idle_timeout = Seconds{0}; },
      [](auto& c) { c.listen.shutdown_grace_period = Seconds{0}; },
      [](auto& c) { c.listen.request_id_headers = {}; },
      [](auto& c) { c.listen.host = "::1"; },
      [](auto& c) {
        c.admission.queue_size = 0;
        c.admission.queue_timeout = Seconds{0};
      },
      [](auto& c) { c.fleet.model_aliases = {{"a", "m"}, {"b", "m"}}; },
      [](auto& c) {
        c.cache_aware.index = "hash";
        c.cache_aware.boundaries = {1, 2};
      },
      [](auto& c) {
        c.listen.host = "127.0.0.1";
        c.observability.prometheus_host = "127.0.0.2";
        c.observability.prometheus_port = c.listen.port;
      },
  };
  for (const auto& change : kCases) {
    EXPECT_EQ(validate(changed(change)), std::vector<std::string>{});
  }
}

TEST(Validate, CountsBuiltInWorkers) {
  GatewayConfig config;
  config.fleet.policy = "power_of_two";
  EXPECT_EQ(validate(config).size(), 1U);
  EXPECT_EQ(validate(config, 1).size(), 1U);
  EXPECT_TRUE(validate(config, 2).empty());
  config.fleet.worker_urls = {"http://a"};
  EXPECT_TRUE(validate(config, 1).empty());
  config.modes.multi_model = true;
  EXPECT_TRUE(validate(config).empty()) << "workers come later";
  config = {};
  config.modes.prefill_decode = true;
  EXPECT_TRUE(validate(config).empty());
  EXPECT_EQ(validate(config, 2).size(), 1U) << "they would get no requests";
}

TEST(Validate, NamesAllProblemsAtOnceInTheOrderOfHelp) {
  GatewayConfig config;
  config.observability.prometheus_port = 0;
  config.listen.port = 0;
  config.retry.max_attempts = 0;
  const auto problems = validate(config);
  ASSERT_EQ(problems.size(), 3U);
  EXPECT_TRUE(problems[0].starts_with("--port:"));
  EXPECT_TRUE(problems[1].starts_with("--retry-max-retries:"));
  EXPECT_TRUE(problems[2].starts_with("--prometheus-port:"));
}

TEST(Normalise, GivesEachValueOneSpelling) {
  GatewayConfig config;
  config.listen.host = "[::1]";
  config.observability.prometheus_host = "[::]";
  config.fleet.worker_urls = {"http://B:1/", "http://a", "http://b:1", "bad", "http://a:80"};
  config.listen.request_id_headers = {"X-Id", "x-id", "bad header"};
  config.fleet.routing_key_headers = {"X-Key", "x-key"};
  config.upstream.forward_request_headers = {"X-Tenant"};
  normalise(config);
  EXPECT_EQ(config.listen.host, "::1");
  EXPECT_EQ(config.observability.prometheus_host, "::");
  EXPECT_EQ(config.fleet.worker_urls, (std::vector<std::string>{"http://b:1", "http://a", "bad"}));
  EXPECT_EQ(config.listen.request_id_headers, (std::vector<std::string>{"x-id", "bad header"}));
  EXPECT_EQ(config.fleet.routing_key_headers, std::vector<std::string>{"x-key"});
  EXPECT_EQ(config.upstream.forward_request_headers, std::vector<std::string>{"x-tenant"});
}

TEST(Normalise, MakesTheSettingsOfDisabledBreakersFitForWorkersThatHaveOne) {
  const struct {
    CircuitBreaker given;
    CircuitBreaker expected;
  } kCases[] = {
      {{true, 0, 0, Seconds{0}}, {true, 1, 1, Seconds{1}}},
      {{true, 4, 5, Seconds{6}}, {true, 4, 5, Seconds{6}}},
      {{false, 0, 0, Seconds{0}}, {false, 0, 0, Seconds{0}}},  // for validate() to refuse
  };
  for (const auto& [given, expected] : kCases) {
    GatewayConfig config;
    config.circuit_breaker = given;
    normalise(config);
    EXPECT_EQ(config.circuit_breaker.failure_threshold, expected.failure_threshold);
    EXPECT_EQ(config.circuit_breaker.success_threshold, expected.success_threshold);
    EXPECT_EQ(config.circuit_breaker.timeout, expected.timeout);
  }
}

}  // namespace
}  // namespace smg::config
