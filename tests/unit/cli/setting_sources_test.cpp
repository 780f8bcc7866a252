#include <optional>
#include <tuple>

#include <gtest/gtest.h>

#include "unit/cli/command_line_fixture.hpp"

namespace smg::cli {
namespace {

using config::Seconds;
using SettingSources = CommandLine;

TEST_F(SettingSources, TakesTheEnvironment) {
  set("SMG_PORT", "31");
  set("SMG_WORKER_URLS", "http://a:1, http://b:2\thttp://c:3");
  set("SMG_DISABLE_RETRIES", "true");
  set("SMG_LOG_JSON", "0");
  set("SMG_REMOVE_UNHEALTHY_WORKERS", "yes");
  set("SMG_MODEL_ALIAS", "a=m b=m");
  set("SMG_REQUEST_TIMEOUT_SECS", "");
  const auto parsed = parse_launch({});
  ASSERT_EQ(parsed.outcome.exit_code, std::nullopt) << parsed.err;
  const auto& config = parsed.outcome.config;
  EXPECT_EQ(config.listen.port, 31);
  EXPECT_EQ(config.fleet.worker_urls, (Arguments{"http://a:1", "http://b:2", "http://c:3"}));
  EXPECT_TRUE(config.retry.disabled);
  EXPECT_FALSE(config.observability.log_json);
  EXPECT_TRUE(config.health.remove_unhealthy.value());
  EXPECT_EQ(config.fleet.model_aliases.size(), 2U);
  EXPECT_EQ(config.limits.request_timeout, Seconds{1800});
}

TEST_F(SettingSources, JudgesTheEnvironmentLikeTheCommandLine) {
  const std::tuple<std::string, std::string, std::optional<int>> kCases[] = {
      {"SMG_PORT", "abc", 2},
      {"SMG_PORT", "70000", 1},
      {"SMG_DISABLE_RETRIES", "maybe", 2},
      {"SMG_API_KEY", "secret", std::nullopt},
      {"SMG_API_KEY", "a secret", 1},
      {"SMG_UPSTREAM_HTTP2", "true", std::nullopt},
      {"SMG_UPSTREAM_HTTP2", "false", std::nullopt},
      {"SMG_LOG_LEVEL", "loud", 2},
      {"SMG_UNKNOWN", "x", std::nullopt},
      {"SMG_PORT", "tcp://10.0.0.1:80", std::nullopt},
  };
  for (const auto& [name, value, exit_code] : kCases) {
    set(name, value);
    const auto parsed = parse_launch({});
    unset(name);
    EXPECT_EQ(parsed.outcome.exit_code, exit_code) << name << "=" << value << " " << parsed.err;
    EXPECT_FALSE(contains(parsed.err, "secret"));
  }
}

TEST_F(SettingSources, RefusesEmptyVariablesThatWouldOpenTheGateway) {
  const struct {
    std::string variable;
    std::string flag;
  } kCases[] = {
      {"SMG_API_KEY", "--api-key"},
      {"SMG_CONTROL_PLANE_API_KEYS", "--control-plane-api-keys"},
      {"CONTROL_PLANE_API_KEYS", "--control-plane-api-keys"},
      {"SMG_JWT_ISSUER", "--jwt-issuer"},
      {"JWT_ISSUER", "--jwt-issuer"},
      {"JWT_AUDIENCE", "--jwt-audience"},
      {"JWT_JWKS_URI", "--jwt-jwks-uri"},
      {"SMG_JWT_ROLE_MAPPING", "--jwt-role-mapping"},
  };
  const auto expect_refused = [](const Parsed& parsed, const std::string& flag) {
    EXPECT_EQ(parsed.outcome.exit_code, 1) << parsed.err;
    EXPECT_TRUE(contains(parsed.err, flag + ": ")) << parsed.err;
  };
  for (const auto& [variable, flag] : kCases) {
    set(variable, "");
    expect_refused(parse_launch({}), flag);
    unset(variable);
    expect_refused(parse_launch({"--config", file(flag.substr(2) + " = \"\"\n")}), flag);
  }
  set("SMG_API_KEY", "");
  EXPECT_EQ(parse_launch({"--api-key", "k"}).outcome.config.access.api_key, "k");
  set("SMG_API_KEY", "tcp://k");
  EXPECT_EQ(parse_launch({}).outcome.config.access.api_key, "tcp://k");
}

TEST_F(SettingSources, TakesControlKeysFromTheCustomaryVariable) {
  const auto ids = [](const Arguments& arguments) {
    std::string found;
    for (const auto& key : parse_launch(arguments).outcome.config.access.control_keys) {
      found += key.id + " ";
    }
    return found;
  };
  set("CONTROL_PLANE_API_KEYS", "a:n:admin:k, b:n:user:l");
  EXPECT_EQ(ids({}), "a b ");
  EXPECT_EQ(ids({"--control-plane-api-keys", "c:n:user:m"}), "c ");
  set("SMG_CONTROL_PLANE_API_KEYS", "d:n:user:m");
  EXPECT_EQ(ids({}), "d ");
  unset("SMG_CONTROL_PLANE_API_KEYS");
  set("CONTROL_PLANE_API_KEYS", "nonsense");
  EXPECT_EQ(parse_launch({}).outcome.exit_code, 1);
}

TEST_F(SettingSources, TakesTokensFromTheCustomaryVariables) {
  set("JWT_ISSUER", "https://i");
  set("JWT_AUDIENCE", "a");
  set("JWT_JWKS_URI", "https://i/keys");
  const auto access = parse_launch({"--jwt-audience", "b"}).outcome.config.access;
  EXPECT_EQ(access.jwt_issuer, "https://i");
  EXPECT_EQ(access.jwt_audience, "b");
  EXPECT_EQ(access.jwt_jwks_uri, "https://i/keys");
  unset("JWT_AUDIENCE");
  EXPECT_EQ(parse_launch({}).outcome.exit_code, 1);
}

TEST_F(SettingSources, TakesTheLogLevelFromTheCustomaryVariables) {
  using config::LogLevel;
  const auto level = [](const Arguments& arguments) {
    return parse_launch(arguments).outcome.config.observability.log_level;
  };
  set("RUST_LOG", "info,hyper=debug");
  EXPECT_EQ(level({}), LogLevel::Info);
  set("RUST_LOG", "warn");
  EXPECT_EQ(level({}), LogLevel::Warn);
  set("SMG_LOG", "debug");
  EXPECT_EQ(level({}), LogLevel::Debug);
  set("SMG_LOG", "trace");
  EXPECT_EQ(level({}), LogLevel::Warn);
  set("SMG_LOG_LEVEL", "error");
  EXPECT_EQ(level({}), LogLevel::Error);
  EXPECT_EQ(level({"--log-level", "info"}), LogLevel::Info);
}

TEST_F(SettingSources, TakesAFile) {
  const auto path = file(
      "# settings\n"
      "port = 31000  # a comment\n"
      "host = \"::1\"\n"
      "worker-urls = [\"http://a:1\",\n  \"http://b:2\"]\n"
      "model-alias = ['a=m', 'b=m']\n"
      "prometheus-duration-buckets = [0.5, 1, 2]\n"
      "retry-jitter-factor = 0.5\n"
      "cache-match-threshold = 0.7\n"
      "log-json = true\n"
      "no-remove-unhealthy-workers = false\n"
      "upstream-http2 = false\n"
      "request-id-headers = []\n");
  const auto parsed = parse_launch({"--config", path});
  ASSERT_EQ(parsed.outcome.exit_code, std::nullopt) << parsed.err;
  const auto& config = parsed.outcome.config;
  EXPECT_EQ(config.listen.port, 31000);
  EXPECT_EQ(config.listen.host, "::1");
  EXPECT_EQ(config.fleet.worker_urls, (Arguments{"http://a:1", "http://b:2"}));
  EXPECT_EQ(config.fleet.model_aliases.size(), 2U);
  EXPECT_EQ(config.observability.duration_buckets, (std::vector<double>{0.5, 1, 2}));
  EXPECT_EQ(config.retry.jitter, 0.5);
  EXPECT_EQ(config.cache_aware.match_threshold, 0.7);
  EXPECT_TRUE(config.observability.log_json);
  EXPECT_TRUE(config.health.remove_unhealthy.value());
  EXPECT_TRUE(config.listen.request_id_headers.empty());
}

TEST_F(SettingSources, TakesTheUnderscoresOfAFilesNumbersAndLeavesThoseOfText) {
  const auto path = file(
      "max-payload-size = 1_000\n"
      "max-concurrent-requests = -1_0\n"
      "request-timeout-secs = 1_2_3\n"
      "retry-jitter-factor = 0.2_5\n"
      "prometheus-duration-buckets = [0.5, 1_0]\n"
      "cache-boundaries = [1_0, 2_0]\n"
      "api-key = \"1_000\"\n"
      "request-id-headers = [\"1_2\"]\n");
  const auto parsed = parse_launch({"--config", path});
  ASSERT_EQ(parsed.outcome.exit_code, std::nullopt) << parsed.err;
  const auto& config = parsed.outcome.config;
  EXPECT_EQ(config.limits.max_payload_size, 1000U);
  EXPECT_EQ(config.admission.max_concurrent_requests, -10);
  EXPECT_EQ(config.limits.request_timeout, Seconds{123});
  EXPECT_EQ(config.retry.jitter, 0.25);
  EXPECT_EQ(config.observability.duration_buckets, (std::vector<double>{0.5, 10}));
  EXPECT_EQ(config.cache_aware.boundaries, (std::vector<std::uint64_t>{10, 20}));
  EXPECT_EQ(config.access.api_key, "1_000");
  EXPECT_EQ(config.listen.request_id_headers, Arguments{"1_2"});
}

TEST_F(SettingSources, RefusesUnderscoresElsewhere) {
  for (const std::string value : {"_1", "1_", "1__0", "1_a", "_"}) {
    EXPECT_EQ(parse_launch({"--config", file("io-threads = " + value + "\n")}).outcome.exit_code, 2)
        << value;
  }
  EXPECT_EQ(parse_launch({"--io-threads", "1_0"}).outcome.exit_code, 2);
}

TEST_F(SettingSources, RefusesBadFiles) {
  const std::tuple<std::string, int, std::string_view> kCases[] = {
      {"bogus = 1\n", 1, "unknown key 'bogus'"},
      {"[section]\nport = 1\n", 1, "unknown key 'section.port'"},
      {"config = \"x\"\n", 1, "unknown key 'config'"},
      {"--port = 5\n", 1, "unknown key '--port'"},
      {"port = [1, 2]\n", 1, "--port: takes one value"},
      {"port = 0\n", 1, "--port: 0 -"},
      {"port = \"abc\"\n", 2, "--port: not a whole number"},
      {"log-json = 7\n", 2, "--log-json:"},
      {"no-remove-unhealthy-workers = 7\n", 2, "--remove-unhealthy-workers:"},
      {"prometheus-duration-buckets = []\n", 1, "--prometheus-duration-buckets:"},
      {"enable-mesh = true\n", 1, "--enable-mesh: not supported yet"},
      {"api-key = \"the secret\"\n", 1, "--api-key: (not shown) -"},
      {"routing-key-headers = [\"bad header\"]\n", 1, "--routing-key-headers: bad header -"},
      {"assignment-mode = \"bogus\"\n", 2, "--assignment-mode:"},
      {"stream-request-bodies-over = 1\n", 2, "--max-buffered-request-bytes"},
  };
  for (const auto& [text, exit_code, message] : kCases) {
    const auto parsed = parse_launch({"--config", file(text)});
    EXPECT_EQ(parsed.outcome.exit_code, exit_code) << text << parsed.err;
    EXPECT_TRUE(contains(parsed.err, message)) << text << parsed.err;
    EXPECT_FALSE(contains(parsed.err, "secret"));
  }
}

TEST_F(SettingSources, PrefersTheCommandLineToTheEnvironmentToTheFile) {
  set("SMG_CONFIG",
      file("port = 1\nhost = \"127.0.0.1\"\nio-threads = 1\nworker-urls = \"http://a\"\n"
           "log-level = \"error\"\nprometheus-port = 0\n"));
  set("SMG_PORT", "2");
  set("SMG_IO_THREADS", "2");
  set("SMG_PROMETHEUS_PORT", "7");
  set("RUST_LOG", "warn");
  const auto parsed = parse_launch({"--io-threads", "3", "--worker-urls"});
  ASSERT_EQ(parsed.outcome.exit_code, std::nullopt) << parsed.err;
  const auto& config = parsed.outcome.config;
  EXPECT_EQ(config.listen.host, "127.0.0.1");
  EXPECT_EQ(config.listen.port, 2);
  EXPECT_EQ(config.listen.io_threads, 3U);
  EXPECT_TRUE(config.fleet.worker_urls.empty());
  EXPECT_EQ(config.observability.log_level, config::LogLevel::Warn);
  EXPECT_EQ(config.observability.prometheus_port, 7);
}

}  // namespace
}  // namespace smg::cli
