#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include <gtest/gtest.h>

#include "unit/cli/command_line_fixture.hpp"

namespace smg::cli {
namespace {

using config::GatewayConfig;
using config::Milliseconds;
using config::Seconds;

struct Setting {
  Arguments arguments;
  std::function<bool(const GatewayConfig&)> holds;
};

void expect_settings(std::span<const Setting> cases) {
  for (const auto& test : cases) {
    const auto parsed = parse_launch(test.arguments);
    ASSERT_EQ(parsed.outcome.exit_code, std::nullopt) << joined(test.arguments) << parsed.err;
    EXPECT_TRUE(test.holds(parsed.outcome.config)) << joined(test.arguments);
    EXPECT_EQ(parsed.err, "");
  }
}

TEST_F(CommandLine, SetsListeningAndLimits) {
  const Setting kCases[] = {
      {{}, [](auto& c) { return c.listen.port == 30000 && c.fleet.policy == "cache_aware"; }},
      {{"--host", "127.0.0.1"}, [](auto& c) { return c.listen.host == "127.0.0.1"; }},
      {{"--host", "::1"}, [](auto& c) { return c.listen.host == "::1"; }},
      {{"--host", "[::1]"}, [](auto& c) { return c.listen.host == "::1"; }},
      {{"--port", "1"}, [](auto& c) { return c.listen.port == 1; }},
      {{"--port=65535"}, [](auto& c) { return c.listen.port == 65535; }},
      {{"--port", "1", "--port", "2"}, [](auto& c) { return c.listen.port == 2; }},
      {{"--health-check-port", "9"}, [](auto& c) { return c.listen.health_check_port == 9; }},
      {{"--io-threads", "3"}, [](auto& c) { return c.listen.io_threads == 3; }},
      {{"--header-read-timeout-secs", "0"},
       [](auto& c) { return c.listen.header_read_timeout == Seconds{0}; }},
      {{"--idle-connection-timeout-secs", "7"},
       [](auto& c) { return c.listen.idle_connection_timeout == Seconds{7}; }},
      {{"--shutdown-grace-period-secs", "0"},
       [](auto& c) { return c.listen.shutdown_grace_period == Seconds{0}; }},
      {{"--request-id-headers", "A", "b", "--request-id-headers", "c"},
       [](auto& c) { return c.listen.request_id_headers == Arguments{"a", "b", "c"}; }},
      {{"--request-id-headers"}, [](auto& c) { return c.listen.request_id_headers.empty(); }},
      {{"--max-payload-size=1024"}, [](auto& c) { return c.limits.max_payload_size == 1024; }},
      {{"--max-buffered-request-bytes", "1000000000000"},
       [](auto& c) { return c.limits.max_buffered_request_bytes == 1000000000000; }},
      {{"--stream-body-stall-timeout-secs", "0"},
       [](auto& c) { return c.limits.stream_body_stall_timeout == Seconds{0}; }},
      {{"--request-timeout-secs", "1"},
       [](auto& c) { return c.limits.request_timeout == Seconds{1}; }},
      {{"--max-concurrent-requests", "-1"},
       [](auto& c) { return c.admission.max_concurrent_requests == -1; }},
      {{"--max-concurrent-requests", "-99999999999999999999"},
       [](auto& c) { return c.admission.max_concurrent_requests < 0; }},
      {{"--queue-size", "0", "--queue-timeout-secs", "0"},
       [](auto& c) { return c.admission.queue_size == 0; }},
      {{"--rate-limit-tokens-per-second", "0"},
       [](auto& c) { return c.admission.rate_limit_tokens_per_second == 0; }},
      {{"--max-concurrent-requests", "12"},
       [](auto& c) { return c.admission.max_concurrent_requests == 12; }},
      {{"--rate-limit-tokens-per-second", "7"},
       [](auto& c) { return c.admission.rate_limit_tokens_per_second == 7; }},
  };
  expect_settings(kCases);
}

TEST_F(CommandLine, SetsUpstreamAndResilience) {
  const Setting kCases[] = {
      {{"--upstream-pool-idle-timeout-secs", "0"},
       [](auto& c) { return c.upstream.pool_idle_timeout == Seconds{0}; }},
      {{"--forward-request-headers", "X-Tenant", "x-user"},
       [](auto& c) {
         return c.upstream.forward_request_headers == Arguments{"x-tenant", "x-user"};
       }},
      {{"--upstream-http2=false"}, [](auto& c) { return !c.upstream.http2; }},
      {{"--upstream-http2"}, [](auto& c) { return c.upstream.http2; }},
      {{"--retry-max-retries", "1"}, [](auto& c) { return c.retry.max_attempts == 1; }},
      {{"--retry-max-retries", "0", "--disable-retries"},
       [](auto& c) { return c.retry.disabled && !c.retry.enabled(); }},
      {{"--retry-initial-backoff-ms", "7"},
       [](auto& c) { return c.retry.initial_backoff == Milliseconds{7}; }},
      {{"--retry-max-backoff-ms", "70"},
       [](auto& c) { return c.retry.max_backoff == Milliseconds{70}; }},
      {{"--retry-backoff-multiplier", "2"}, [](auto& c) { return c.retry.multiplier == 2.0; }},
      {{"--retry-jitter-factor", "1e-1"}, [](auto& c) { return c.retry.jitter == 0.1; }},
      {{"--cb-failure-threshold", "1"},
       [](auto& c) { return c.circuit_breaker.failure_threshold == 1; }},
      {{"--cb-success-threshold", "1"},
       [](auto& c) { return c.circuit_breaker.success_threshold == 1; }},
      {{"--cb-timeout-duration-secs", "1"},
       [](auto& c) { return c.circuit_breaker.timeout == Seconds{1}; }},
      {{"--cb-window-duration-secs", "1"},
       [](auto& c) { return c.circuit_breaker.window == Seconds{1}; }},
      {{"--disable-circuit-breaker"}, [](auto& c) { return c.circuit_breaker.disabled; }},
      {{"--health-failure-threshold", "1"},
       [](auto& c) { return c.health.failure_threshold == 1; }},
      {{"--health-success-threshold", "1"},
       [](auto& c) { return c.health.success_threshold == 1; }},
      {{"--health-check-timeout-secs", "1"},
       [](auto& c) { return c.health.timeout == Seconds{1}; }},
      {{"--health-check-interval-secs", "1"},
       [](auto& c) { return c.health.interval == Seconds{1}; }},
      {{"--health-check-endpoint", "/x"}, [](auto& c) { return c.health.endpoint == "/x"; }},
      {{"--disable-health-check"}, [](auto& c) { return c.health.disabled; }},
      {{"--remove-unhealthy-workers"}, [](auto& c) { return c.health.remove_unhealthy.value(); }},
      {{"--worker-auto-recovery"}, [](auto& c) { return c.health.remove_unhealthy.value(); }},
      {{"--worker-auto-recovery", "--no-remove-unhealthy-workers"},
       [](auto& c) { return !c.health.remove_unhealthy.value(); }},
      {{"--no-worker-auto-recovery", "--remove-unhealthy-workers"},
       [](auto& c) { return c.health.remove_unhealthy.value(); }},
  };
  expect_settings(kCases);
}

TEST_F(CommandLine, SetsTheFleet) {
  const Setting kCases[] = {
      {{"--worker-urls"}, [](auto& c) { return c.fleet.worker_urls.empty(); }},
      {{"--worker-urls", "--port", "5"},
       [](auto& c) { return c.fleet.worker_urls.empty() && c.listen.port == 5; }},
      {{"--worker-urls=http://a"},
       [](auto& c) { return c.fleet.worker_urls == Arguments{"http://a"}; }},
      {{"--worker-urls", "http://A:1/", "http://[::1]:9", "--port", "5", "--worker-urls",
        "http://a:1", "http://b"},
       [](auto& c) {
         return c.fleet.worker_urls == Arguments{"http://a:1", "http://[::1]:9", "http://b"};
       }},
      {{"--policy", "random"}, [](auto& c) { return c.fleet.policy == "random"; }},
      {{"--policy", "round_robin"}, [](auto& c) { return c.fleet.policy == "round_robin"; }},
      {{"--policy", "passthrough"}, [](auto& c) { return c.fleet.policy == "passthrough"; }},
      {{"--policy", "least_load"}, [](auto& c) { return c.fleet.policy == "least_load"; }},
      {{"--policy", "manual"}, [](auto& c) { return c.fleet.policy == "manual"; }},
      {{"--policy", "consistent_hashing"},
       [](auto& c) { return c.fleet.policy == "consistent_hashing"; }},
      {{"--policy", "prefix_hash"}, [](auto& c) { return c.fleet.policy == "prefix_hash"; }},
      {{"--policy", "power_of_two", "--worker-urls", "http://a", "http://b"},
       [](auto& c) { return c.fleet.policy == "power_of_two"; }},
      {{"--model-alias", "a=m", "--model-alias", "b=m", "c=x=y", "a=m"},
       [](auto& c) {
         return c.fleet.model_aliases ==
                std::map<std::string, std::string>{{"a", "m"}, {"b", "m"}, {"c", "x=y"}};
       }},
      {{"--worker-startup-timeout-secs", "1"},
       [](auto& c) { return c.fleet.startup_timeout == Seconds{1}; }},
      {{"--worker-startup-delay", "0"},
       [](auto& c) { return c.fleet.startup_delay == Seconds{0}; }},
      {{"--worker-startup-check-interval", "1"},
       [](auto& c) { return c.fleet.startup_check_interval == Seconds{1}; }},
      {{"--job-queue-capacity", "1"}, [](auto& c) { return c.fleet.job_queue_capacity == 1; }},
      {{"--job-queue-concurrency", "1"},
       [](auto& c) { return c.fleet.job_queue_concurrency == 1; }},
      {{"--cache-match-threshold", "1"},
       [](auto& c) { return c.cache_aware.match_threshold == 1.0; }},
      {{"--spill-abs-threshold", "5", "--spill-rel-threshold", "1"},
       [](auto& c) {
         return c.cache_aware.balance_abs_threshold == 5 &&
                c.cache_aware.balance_rel_threshold == 1.0;
       }},
      {{"--cache-boundaries", "64,128", "--cache-index", "hash"},
       [](auto& c) {
         return c.cache_aware.boundaries == std::vector<std::uint64_t>{64, 128} &&
                c.cache_aware.index == "hash";
       }},
      {{"--load-monitor-interval", "1", "--disable-load-monitoring"},
       [](auto& c) { return c.load_monitor.disabled && c.load_monitor.interval == Seconds{1}; }},
  };
  expect_settings(kCases);
}

TEST_F(CommandLine, SetsWhatMakesAWorkerOverloaded) {
  const Setting kCases[] = {
      {{},
       [](auto& c) {
         return !c.worker_overload.protection && !c.worker_overload.waiting_requests &&
                !c.worker_overload.token_usage && c.fleet.state_file.empty();
       }},
      {{"--worker-overload-waiting-requests", "3"},
       [](auto& c) { return c.worker_overload.waiting_requests == 3U; }},
      {{"--worker-overload-token-usage", "0.5"},
       [](auto& c) { return c.worker_overload.token_usage == 0.5; }},
      {{"--worker-overload-protection"}, [](auto& c) { return c.worker_overload.protection; }},
      {{"--dp-aware"}, [](auto& c) { return c.fleet.dp_aware; }},
      {{"--state-file", "/f"}, [](auto& c) { return c.fleet.state_file == "/f"; }},
  };
  expect_settings(kCases);
}

TEST_F(CommandLine, SetsSessions) {
  using config::AssignmentMode;
  const Setting kCases[] = {
      {{},
       [](auto& c) {
         return !c.fleet.routing_key_override &&
                c.routing.sticky.assignment == AssignmentMode::Default &&
                c.fleet.routing_key_headers == Arguments{"x-smg-routing-key"};
       }},
      {{"--routing-key-override"}, [](auto& c) { return c.fleet.routing_key_override; }},
      {{"--sticky-sessions"}, [](auto& c) { return c.fleet.routing_key_override; }},
      {{"--routing-key-headers", "X-A", "x-b", "x-a"},
       [](auto& c) { return c.fleet.routing_key_headers == Arguments{"x-a", "x-b"}; }},
      {{"--assignment-mode", "random"},
       [](auto& c) { return c.routing.sticky.assignment == AssignmentMode::Random; }},
      {{"--assignment-mode", "min_load"},
       [](auto& c) { return c.routing.sticky.assignment == AssignmentMode::MinLoad; }},
      {{"--assignment-mode", "min_group"},
       [](auto& c) { return c.routing.sticky.assignment == AssignmentMode::MinGroup; }},
      {{"--assignment-mode", "delegate"},
       [](auto& c) { return c.routing.sticky.assignment == AssignmentMode::Delegate; }},
      {{"--max-idle-secs", "0"}, [](auto& c) { return c.routing.sticky.max_idle == Seconds{0}; }},
      {{"--sticky-key-idle-secs", "9"},
       [](auto& c) { return c.routing.sticky.max_idle == Seconds{9}; }},
  };
  expect_settings(kCases);
}

TEST_F(CommandLine, SetsModes) {
  using config::PrefillUrl;
  using Prefills = std::vector<PrefillUrl>;
  const auto prefill = [](Prefills expected) {
    return [expected = std::move(expected)](auto& c) { return c.modes.prefill == expected; };
  };
  const auto with_switch = [](Arguments arguments) {
    arguments.insert(arguments.begin(), "--pd-disaggregation");
    return arguments;
  };
  const Setting kCases[] = {
      {{}, [](auto& c) { return c.modes.router() == config::RouterMode::Regular; }},
      {{"--enable-igw"},
       [](auto& c) { return c.modes.router() == config::RouterMode::MultiModel; }},
      {{"--pd-disaggregation"},
       [](auto& c) { return c.modes.router() == config::RouterMode::PrefillDecode; }},
      {with_switch({"--prefill", "http://A:1/", "9001"}), prefill({{"http://a:1", 9001}})},
      {with_switch({"--prefill", "http://a", "none", "--prefill", "http://b"}),
       prefill({{"http://a", std::nullopt}, {"http://b", std::nullopt}})},
      {with_switch({"--prefill", "http://a", "1", "--prefill", "http://b", "NONE", "--prefill",
                    "http://c", "3", "--prefill", "http://a", "1"}),
       prefill({{"http://a", 1}, {"http://b", std::nullopt}, {"http://c", 3}})},
      {with_switch({"--decode", "http://a", "--decode", "http://b", "http://a/"}),
       [](auto& c) { return c.modes.decode == Arguments{"http://a", "http://b"}; }},
      {with_switch({"--prefill-policy", "bucket", "--decode-policy", "random"}),
       [](auto& c) {
         return c.modes.prefill_policy == "bucket" && c.modes.decode_policy == "random";
       }},
      {{"--bucket-adjust-interval-secs", "9"},
       [](auto& c) { return c.routing.bucket.adjust_interval == Seconds{9}; }},
  };
  expect_settings(kCases);
}

TEST_F(CommandLine, RefusesPortsWithoutAPrefillWorker) {
  const Arguments kCases[] = {{"9001"},
                              {"none"},
                              {"http://a", "1", "2"},
                              {"http://a", "none", "2"},
                              {"http://a", "0"},
                              {"http://a", "65536"}};
  for (auto arguments : kCases) {
    arguments.insert(arguments.begin(), {"--pd-disaggregation", "--prefill"});
    const auto parsed = parse_launch(arguments);
    EXPECT_EQ(parsed.outcome.exit_code, 1) << joined(arguments);
    EXPECT_TRUE(contains(parsed.err, "Configuration error: --prefill: ")) << parsed.err;
  }
}

TEST_F(CommandLine, SetsTheTuningOfPolicies) {
  const Setting kCases[] = {
      {{"--prefix-token-count", "8"},
       [](auto& c) { return c.routing.prefix_hash.token_count == 8; }},
      {{"--prefix-hash-load-factor", "1"},
       [](auto& c) { return c.routing.prefix_hash.load_factor == 1.0; }},
      {{"--prefix-hash-balance-abs-threshold", "0"},
       [](auto& c) { return c.routing.prefix_hash.balance_abs_threshold == 0; }},
      {{"--least-load-kv-pressure-weight", "0"},
       [](auto& c) { return c.routing.least_load.kv_pressure_weight == 0.0; }},
      {{"--least-load-default-throughput", "50.5"},
       [](auto& c) { return c.routing.least_load.default_throughput == 50.5; }},
      {{"--least-load-mean-prefill-tokens", "7"},
       [](auto& c) { return c.routing.least_load.mean_prefill_tokens == 7.0; }},
      {{"--least-load-max-waiting-requests", "3"},
       [](auto& c) { return c.routing.least_load.max_waiting_requests == 3; }},
  };
  expect_settings(kCases);
}

TEST_F(CommandLine, SetsObservability) {
  const Setting kCases[] = {
      {{"--log-level", "error"},
       [](auto& c) { return c.observability.log_level == config::LogLevel::Error; }},
      {{"--log-json"}, [](auto& c) { return c.observability.log_json; }},
      {{"--log-dir", "logs"}, [](auto& c) { return c.observability.log_dir == "logs"; }},
      {{"--prometheus-port", "1"}, [](auto& c) { return c.observability.prometheus_port == 1; }},
      {{"--prometheus-host", "[::]"},
       [](auto& c) { return c.observability.prometheus_host == "::"; }},
      {{"--prometheus-duration-buckets", "0.5", "1", "--prometheus-duration-buckets", "2"},
       [](auto& c) { return c.observability.duration_buckets == std::vector<double>{0.5, 1, 2}; }},
      {{"--enable-trace"}, [](auto& c) { return c.tracing.enabled; }},
      {{"--otlp-traces-endpoint", "h:1"},
       [](auto& c) { return c.tracing.otlp_endpoint == "h:1" && !c.tracing.enabled; }},
  };
  expect_settings(kCases);
}

TEST_F(CommandLine, SetsAccess) {
  const Setting kCases[] = {
      {{"--api-key", "k"}, [](auto& c) { return c.access.api_key == "k"; }},
      {{"--cors-allowed-origins", "http://a", "http://b"},
       [](auto& c) {
         return c.access.cors_allowed_origins == std::vector<std::string>{"http://a", "http://b"};
       }},
      {{"--control-plane-audit-enabled"}, [](auto& c) { return c.access.audit; }},
      {{"--control-plane-api-keys", "i:the name:admin:a:b", "j::user:c"},
       [](auto& c) {
         const auto& keys = c.access.control_keys;
         return keys.size() == 2 && keys[0].id == "i" && keys[0].name == "the name" &&
                keys[0].role == config::Role::Admin && keys[0].key == "a:b" &&
                keys[1].role == config::Role::User && keys[1].key == "c";
       }},
  };
  expect_settings(kCases);
}

TEST_F(CommandLine, SetsTokens) {
  const auto parsed =
      parse_launch({"--jwt-issuer", "https://i", "--jwt-audience", "a", "--jwt-jwks-uri",
                    "https://i/keys", "--jwt-role-mapping", "Ops=admin", "CN=dev,O=x=user"});
  const auto& access = parsed.outcome.config.access;
  EXPECT_EQ(parsed.outcome.exit_code, std::nullopt) << parsed.err;
  EXPECT_EQ(access.jwt_issuer, "https://i");
  EXPECT_EQ(access.jwt_audience, "a");
  EXPECT_EQ(access.jwt_jwks_uri, "https://i/keys");
  EXPECT_EQ(access.jwt_roles,
            (std::map<std::string, config::Role>{{"Ops", config::Role::Admin},
                                                 {"CN=dev,O=x", config::Role::User}}));
  for (const auto mapping : {"abc", "=admin", "Ops=root", "Ops="}) {
    const auto bad = parse_launch(
        {"--jwt-issuer", "https://i", "--jwt-audience", "a", "--jwt-role-mapping", mapping});
    EXPECT_EQ(bad.outcome.exit_code, 1) << mapping;
    EXPECT_TRUE(contains(bad.err, "Must be <their role>=admin or <their role>=user")) << bad.err;
  }
}

TEST_F(CommandLine, RefusesMalformedControlKeysWithoutShowingThem) {
  const std::pair<Arguments, std::string_view> kCases[] = {
      {{"i:n:admin:k", "secret"}, "key 2 - Must be <id>"},
      {{"secret:admin"}, "key 1 - Must be <id>"},
      {{"a:b:secret"}, "key 1 - Must be <id>"},
      {{""}, "key 1 - Must be <id>"},
      {{"i:n:root:secret"}, "key 1 - The role must be admin or user"},
      {{"i:n:Admin:secret"}, "key 1 - The role must be admin or user"},
      {{"i:n:admin:"}, "key 1 - The key must not be empty"},
      {{":n:admin:k"}, "n - The id must not be empty"},
      {{"i:n:admin:a secret"}, "i - The key must be printable"},
      {{"i:n:admin:k", "j:n:user:k"}, "j - Has the id or the key of i"},
      {{"i:n:admin:k", "i:n:user:l"}, "i - Has the id or the key of i"},
  };
  for (auto [words, message] : kCases) {
    words.insert(words.begin(), "--control-plane-api-keys");
    const auto parsed = parse_launch(words);
    EXPECT_EQ(parsed.outcome.exit_code, 1) << joined(words);
    EXPECT_TRUE(contains(parsed.err, message)) << parsed.err << message;
    EXPECT_FALSE(contains(parsed.err, "secret")) << parsed.err;
  }
}

TEST_F(CommandLine, AcceptsHarmlessFlags) {
  const Arguments kCases[] = {
      {"--disable-tokenizer-autoload"},
      {"--model-path", "/m"},
      {"--model", "/m"},
      {"--tokenizer-path", "/t"},
      {"--chat-template", "/c"},
      {"--reasoning-parser", "x"},
      {"--tool-call-parser", "x"},
      {"--history-backend", "memory"},
      {"--history-backend", "none"},
      {"--backend", "sglang"},
      {"--backend", "vllm"},
  };
  for (const auto& arguments : kCases) {
    const auto parsed = parse_launch(arguments);
    EXPECT_EQ(parsed.outcome.exit_code, std::nullopt) << joined(arguments) << parsed.err;
  }
}

TEST_F(CommandLine, UsageErrorsExitWithTwoAndEndInTheReason) {
  const std::pair<Arguments, std::string_view> kCases[] = {
      {{"--bogus"}, "--bogus"},
      {{"--por", "1"}, "--por"},
      {{"-p", "1"}, "-p"},
      {{"stray"}, "stray"},
      {{"--port", "abc"}, "--port"},
      {{"--port", "1x"}, "--port"},
      {{"--port", ""}, "--port"},
      {{"--port", "-"}, "--port"},
      {{"--port", "+1"}, "--port"},
      {{"--port", "0x10"}, "--port"},
      {{"--port"}, "--port"},
      {{"--port", "--host", "::1"}, "--port"},
      {{"--log-dir", "--log-json"}, "--log-dir"},
      {{"--max-payload-size", "1.5"}, "--max-payload-size"},
      {{"--retry-jitter-factor", "abc"}, "--retry-jitter-factor"},
      {{"--retry-jitter-factor", "0.1x"}, "--retry-jitter-factor"},
      {{"--max-concurrent-requests", "x"}, "--max-concurrent-requests"},
      {{"--policy", "bogus"}, "--policy"},
      {{"--policy", ""}, "--policy"},
      {{"--backend", "echo"}, "--backend"},
      {{"--cache-index", "bogus"}, "--cache-index"},
      {{"--assignment-mode", "bogus"}, "--assignment-mode"},
      {{"--history-backend", "bogus"}, "--history-backend"},
      {{"--log-level", "loud"}, "--log-level"},
      {{"--log-level", "INFO"}, "--log-level"},
      {{"--log-json=maybe"}, "--log-json"},
      {{"--model-alias"}, "--model-alias"},
      {{"--prometheus-duration-buckets"}, "--prometheus-duration-buckets"},
      {{"--prometheus-duration-buckets", "abc"}, "--prometheus-duration-buckets"},
      {{"--prometheus-duration-buckets", "--port", "1"}, "--prometheus-duration-buckets"},
      {{"--stream-request-bodies-over", "1"}, "--max-buffered-request-bytes"},
      {{"--stream-request-bodies-over=1"}, "--stream-request-bodies-over"},
      {{"--port", "0", "--bogus"}, "--bogus"},
  };
  for (const auto& [arguments, named] : kCases) {
    const auto parsed = parse_launch(arguments);
    EXPECT_EQ(parsed.outcome.exit_code, 2) << joined(arguments) << parsed.err;
    const auto last = parsed.err.substr(parsed.err.rfind('\n', parsed.err.size() - 2) + 1);
    EXPECT_TRUE(contains(last, "error: ") && contains(last, named)) << parsed.err;
    EXPECT_EQ(parsed.out, "");
  }
}

TEST_F(CommandLine, ConfigurationErrorsExitWithOneAndNameTheFlag) {
  const std::pair<Arguments, std::string_view> kCases[] = {
      {{"--port", "0"}, "--port: 0 - Port must be > 0"},
      {{"--port", "65536"}, "--port: 65536 - Must be <= 65535"},
      {{"--port", "-1"}, "--port: -1 - Must be >= 0"},
      {{"--prometheus-port", "65536"}, "--prometheus-port: 65536 - Must be <= 65535"},
      {{"--health-check-port", "0"}, "--health-check-port: 0 - Port must be > 0"},
      {{"--io-threads", "99999999999999999999"}, "--io-threads: 99999999999999999999 - Must be <="},
      {{"--max-payload-size", "-1"}, "--max-payload-size: -1 - Must be >= 0"},
      {{"--max-payload-size", "18446744073709551616"}, "--max-payload-size: 18446744073709551616"},
      {{"--max-buffered-request-bytes", "-1"}, "--max-buffered-request-bytes: -1 -"},
      {{"--request-timeout-secs", "9223372036854775807"},
       "--request-timeout-secs: 9223372036854775807 - Must be <= 946080000"},
      {{"--stream-body-stall-timeout-secs", "-1"}, "--stream-body-stall-timeout-secs: -1 -"},
      {{"--shutdown-grace-period-secs", "-1"}, "--shutdown-grace-period-secs: -1 -"},
      {{"--upstream-pool-idle-timeout-secs", "-1"}, "--upstream-pool-idle-timeout-secs: -1 -"},
      {{"--queue-size", "-1"}, "--queue-size: -1 -"},
      {{"--queue-timeout-secs", "0"}, "--queue-timeout-secs: 0 - Must be > 0"},
      {{"--rate-limit-tokens-per-second", "-1"}, "--rate-limit-tokens-per-second: -1 -"},
      {{"--retry-max-retries", "0"}, "--retry-max-retries: 0 - Must be >= 1"},
      {{"--retry-max-retries", "-1"}, "--retry-max-retries: -1 -"},
      {{"--retry-jitter-factor", "nan"}, "--retry-jitter-factor: nan -"},
      {{"--retry-jitter-factor", "-0.5"}, "--retry-jitter-factor: -0.5 -"},
      {{"--retry-backoff-multiplier", "1e999"}, "--retry-backoff-multiplier: 1e999 -"},
      {{"--model-alias", "a"}, "--model-alias: a - Must be <alias>=<canonical>"},
      {{"--model-alias", "a=b", "--model-alias", "a=c"}, "--model-alias: a=c - The alias already"},
      {{"--worker-urls", ""}, "--worker-urls:  - URL must start"},
      {{"--worker-urls", "http://u:secret@a"}, "--worker-urls: http://***@a - user info"},
      {{"--policy", "power_of_two"}, "at least 2 workers"},
      {{"--prometheus-duration-buckets", "5", "1"},
       "--prometheus-duration-buckets: 1 - Must ascend"},
      {{"--enable-trace", "--otlp-traces-endpoint", "bad"},
       "--otlp-traces-endpoint: bad - Must be host:port"},
      {{"--log-dir", "/dev/null/logs"}, "--log-dir: /dev/null/logs - Cannot be created"},
      {{"--config", "/dev/null/none.toml"}, "--config: /dev/null/none.toml - cannot be read"},
      {{"--config", "/"}, "--config: / - is a directory"},
  };
  for (const auto& [arguments, message] : kCases) {
    const auto parsed = parse_launch(arguments);
    EXPECT_EQ(parsed.outcome.exit_code, 1) << joined(arguments) << parsed.err;
    EXPECT_TRUE(parsed.err.starts_with("Configuration error: --")) << parsed.err;
    EXPECT_TRUE(contains(parsed.err, message)) << parsed.err << message;
    EXPECT_EQ(std::ranges::count(parsed.err, '\n'), 1) << parsed.err;
  }
}

TEST_F(CommandLine, RefusesUnsupportedFlagsByName) {
  const Arguments kCases[] = {
      {"--epd-disaggregation"},
      {"--encode", "http://a"},
      {"--pd-admission-wait-secs", "1"},
      {"--router-selector", "a=b"},
      {"--enable-wasm"},
      {"--mcp-config-path", "f"},
      {"--enable-mesh"},
      {"--mesh-port", "1"},
      {"--redis-url", "r"},
      {"--postgres-db-url=secret"},
      {"--tokenizer-cache-l0-max-entries", "-1"},
  };
  for (const auto& arguments : kCases) {
    const auto parsed = parse_launch(arguments);
    const auto name = arguments[0].substr(0, arguments[0].find('='));
    EXPECT_EQ(parsed.outcome.exit_code, 1) << joined(arguments);
    EXPECT_EQ(parsed.err, "Configuration error: " + name + ": not supported yet\n");
  }
}

TEST_F(CommandLine, RefusesUnsupportedChoices) {
  const Arguments kCases[] = {{"--backend", "openai"}, {"--history-backend", "redis"}};
  for (const auto& arguments : kCases) {
    const auto parsed = parse_launch(arguments);
    EXPECT_EQ(parsed.outcome.exit_code, 1) << joined(arguments);
    EXPECT_EQ(parsed.err, "Configuration error: " + arguments[0] + ": " + arguments[1] +
                              " - not supported yet\n");
  }
}

TEST_F(CommandLine, NamesAllProblemsAtOnce) {
  const auto parsed = parse_launch({"--retry-max-retries", "0", "--port", "-1", "--api-key", "",
                                    "--mesh-port", "1", "--model-alias", "x", "y"});
  EXPECT_EQ(parsed.outcome.exit_code, 1);
  EXPECT_EQ(std::ranges::count(parsed.err, '\n'), 6) << parsed.err;
  for (const auto name : {"--retry-max-retries: 0", "--port: -1",
                          "--api-key:", "--mesh-port:", "--model-alias: x", "--model-alias: y"}) {
    EXPECT_TRUE(contains(parsed.err, name)) << name;
  }
}

TEST_F(CommandLine, NeverShowsSecrets) {
  const Arguments kCases[] = {{"--api-key", "a secret"},
                              {"--apikey=secret"},
                              {"--apikey", "secret"},
                              {"--control-plane-api-keys", "a:b:root:secret"},
                              {"--worker-urls", "http://u:secret@a"},
                              {"--redis-url", "redis://u:secret@a"}};
  for (const auto& arguments : kCases) {
    const auto parsed = parse_launch(arguments);
    EXPECT_NE(parsed.outcome.exit_code, std::nullopt);
    EXPECT_FALSE(contains(parsed.out + parsed.err, "secret")) << parsed.err;
  }
}

TEST_F(CommandLine, AnswersVersionAndHelp) {
  for (const Arguments& arguments :
       {Arguments{"--version"}, {"-V"}, {"launch", "--version"}, {"launch", "-V"}}) {
    const auto parsed = parse_program(arguments);
    EXPECT_EQ(parsed.outcome.exit_code, 0) << joined(arguments);
    EXPECT_TRUE(parsed.out.starts_with("smg ")) << parsed.out;
    EXPECT_EQ(parsed.err, "");
  }
  const auto usage = parse_program({"--help"});
  EXPECT_EQ(usage.outcome.exit_code, 0);
  EXPECT_TRUE(contains(usage.out, "launch") && contains(usage.out, "serve"));
  for (const Arguments& arguments : {Arguments{}, {"bogus"}, {"--port"}}) {
    const auto parsed = parse_program(arguments);
    EXPECT_EQ(parsed.outcome.exit_code, 1) << joined(arguments);
    EXPECT_TRUE(contains(parsed.err, "launch") && contains(parsed.err, "serve"));
  }
}

/// The part of help from the flag's line to the next flag.
std::string help_entry(const std::string& help, const std::string& flag) {
  auto start = help.find("\n  " + flag + " ");
  if (start == std::string::npos) return {};
  ++start;
  return help.substr(start, help.find("\n  --", start) - start);
}

TEST_F(CommandLine, HelpListsFlagsWithDefaults) {
  const std::pair<std::string, std::string> kCases[] = {
      {"--port", "[30000]"},
      {"--prometheus-port", "[29000]"},
      {"--max-payload-size", "[536870912]"},
      {"--max-buffered-request-bytes", "[1048576]"},
      {"--request-timeout-secs", "[1800]"},
      {"--retry-jitter-factor", "[0.2]"},
      {"--policy", "[cache_aware]"},
      {"--log-json", "[off]"},
      {"--log-level", "[info]"},
      {"--request-id-headers", "x-correlation-id"},
      {"--assignment-mode", "[random for manual, else delegate]"},
      {"--routing-key-headers", "[x-smg-routing-key]"},
      {"--max-concurrent-requests", "[-1]"},
      {"--queue-size", "[100]"},
      {"--api-key", "[none]"},
      {"--otlp-traces-endpoint", "[localhost:4318]"},
  };
  const auto parsed = parse_launch({"--port", "1", "--log-json", "--help"});
  EXPECT_EQ(parsed.outcome.exit_code, 0);
  EXPECT_EQ(parsed.err, "");
  for (const auto& [flag, text] : kCases) {
    EXPECT_TRUE(contains(help_entry(parsed.out, flag), text)) << help_entry(parsed.out, flag);
  }
  EXPECT_FALSE(contains(parsed.out, "stream-request-bodies-over"));
  EXPECT_TRUE(contains(parsed.out, "--no-remove-unhealthy-workers"));
  EXPECT_FALSE(contains(parsed.out, "{false}"));
}

TEST_F(CommandLine, HelpWinsOverErrors) {
  EXPECT_EQ(parse_launch({"--port", "abc", "--bogus", "--help"}).outcome.exit_code, 0);
}

TEST_F(CommandLine, ServesInFrontOfEchoWorkers) {
  const auto parsed = parse_program({"serve", "--backend", "echo", "--port", "5"});
  ASSERT_EQ(parsed.outcome.exit_code, std::nullopt) << parsed.err;
  EXPECT_TRUE(parsed.outcome.echo_backend);
  EXPECT_EQ(parsed.outcome.config.fleet.policy, "round_robin");
  EXPECT_EQ(parsed.outcome.config.listen.port, 5);
  EXPECT_TRUE(
      contains(help_entry(parse_program({"serve", "--help"}).out, "--policy"), "[round_robin]"));
  EXPECT_EQ(
      parse_program({"serve", "--backend", "echo", "--policy", "power_of_two"}).outcome.exit_code,
      std::nullopt);
  EXPECT_EQ(parse_program({"serve"}).outcome.exit_code, 2);
  EXPECT_EQ(parse_program({"serve", "--backend", "sglang"}).outcome.exit_code, 2);
  EXPECT_FALSE(parse_launch({}).outcome.echo_backend);
}

}  // namespace
}  // namespace smg::cli
