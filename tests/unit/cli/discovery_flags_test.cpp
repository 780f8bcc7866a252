#include <gtest/gtest.h>

#include "unit/cli/command_line_fixture.hpp"

namespace smg::cli {
namespace {

using config::ModelIdSource;
using Labels = std::map<std::string, std::string>;

class DiscoveryFlags : public CommandLine {
 protected:
  DiscoveryFlags() {
    unset("KUBERNETES_SERVICE_HOST");
    unset("KUBERNETES_SERVICE_PORT");
  }

  /// The settings of flags that must be fine, next to those of a discovery.
  static config::GatewayConfig settings_of(const Arguments& further) {
    Arguments arguments{"--service-discovery", "--selector", "app=vllm", "--kubernetes-api-url",
                        "http://localhost:8001"};
    arguments.insert(arguments.end(), further.begin(), further.end());
    const auto parsed = parse_launch(arguments);
    EXPECT_EQ(parsed.outcome.exit_code, std::nullopt) << parsed.err;
    return parsed.outcome.config;
  }
};

TEST_F(DiscoveryFlags, SetWhatIsLookedFor) {
  const auto plain = settings_of({}).discovery;
  EXPECT_TRUE(plain.enabled);
  EXPECT_EQ(plain.selector, (Labels{{"app", "vllm"}}));
  EXPECT_EQ(plain.port, 80);
  EXPECT_EQ(plain.pod_namespace, "");
  EXPECT_EQ(plain.model_id_from, ModelIdSource{});
  EXPECT_EQ(plain.token_path, "/var/run/secrets/kubernetes.io/serviceaccount/token");
  const auto all =
      settings_of({"--selector", "a.io/b=", "c=d,e=f", "app=vllm", "--service-discovery-port",
                   "8000", "--service-discovery-namespace", "serving", "--kubernetes-token-path",
                   "/t", "--kubernetes-ca-cert-path", "/c"})
          .discovery;
  EXPECT_EQ(all.selector, (Labels{{"a.io/b", ""}, {"app", "vllm"}, {"c", "d"}, {"e", "f"}}));
  EXPECT_EQ(all.port, 8000);
  EXPECT_EQ(all.pod_namespace, "serving");
  EXPECT_EQ(all.token_path, "/t");
  EXPECT_EQ(all.ca_cert_path, "/c");
}

TEST_F(DiscoveryFlags, SetWhereModelsAreNamed) {
  using Kind = ModelIdSource::Kind;
  const std::pair<const char*, ModelIdSource> cases[] = {
      {"namespace", {Kind::Namespace, ""}},
      {"label:model", {Kind::Label, "model"}},
      {"annotation:example.com/model", {Kind::Annotation, "example.com/model"}},
  };
  for (const auto& [word, source] : cases) {
    EXPECT_EQ(settings_of({"--model-id-from", word}).discovery.model_id_from, source) << word;
  }
}

TEST_F(DiscoveryFlags, SetWhatPairsAreMadeOf) {
  const auto parsed =
      parse_launch({"--service-discovery", "--pd-disaggregation", "--prefill-selector", "role=p",
                    "--decode-selector", "role=d", "--kv-connector-annotation", "own/c",
                    "--kv-engine-id-annotation", "id", "--kubernetes-api-url", "http://localhost"});
  ASSERT_EQ(parsed.outcome.exit_code, std::nullopt) << parsed.err;
  const auto& discovery = parsed.outcome.config.discovery;
  EXPECT_EQ(discovery.prefill_selector, (Labels{{"role", "p"}}));
  EXPECT_EQ(discovery.decode_selector, (Labels{{"role", "d"}}));
  EXPECT_EQ(discovery.kv_connector_annotation, "own/c");
  EXPECT_EQ(discovery.kv_engine_id_annotation, "id");
  EXPECT_EQ(settings_of({"--enable-igw", "--decode-selector", "a=b"}).discovery.decode_selector,
            (Labels{{"a", "b"}}));
}

TEST_F(DiscoveryFlags, FindTheApiServerInTheEnvironment) {
  set("KUBERNETES_SERVICE_HOST", "fd00::1");
  set("KUBERNETES_SERVICE_PORT", "6443");
  const auto path = file("");
  const Arguments arguments{
      "--service-discovery",       "--selector", "app=vllm", "--kubernetes-token-path", path,
      "--kubernetes-ca-cert-path", path};
  EXPECT_EQ(parse_launch(arguments).outcome.config.discovery.api_url, "https://[fd00::1]:6443");
  set("SMG_KUBERNETES_API_URL", "http://127.0.0.1:8001");
  EXPECT_EQ(parse_launch(arguments).outcome.config.discovery.api_url, "http://127.0.0.1:8001");
}

TEST_F(DiscoveryFlags, RemovalOfUnhealthyWorkersFollowsThem) {
  EXPECT_TRUE(settings_of({}).health.remove_unhealthy.value());
  EXPECT_FALSE(settings_of({"--no-remove-unhealthy-workers"}).health.remove_unhealthy.value());
  EXPECT_FALSE(parse_launch({}).outcome.config.health.remove_unhealthy.value());
  EXPECT_TRUE(settings_of({"--policy", "power_of_two"}).discovery.enabled);
}

TEST_F(DiscoveryFlags, AreRefusedWhereTheyCannotWork) {
  const std::pair<Arguments, const char*> cases[] = {
      {{"--service-discovery"}, "--service-discovery: on - Needs --selector"},
      {{"--service-discovery", "--selector", "a=b"},
       "--service-discovery: on - Needs --kubernetes-api-url outside of a cluster"},
      {{"--selector", "a=b"}, "--selector: a - Needs --service-discovery"},
      {{"--model-id-from", "label:x"}, "--model-id-from: x - Needs --service-discovery"},
      {{"--prefill-selector", "a=b"}, "--prefill-selector: a - Needs --service-discovery"},
      {{"--service-discovery", "--decode-selector", "a=b"},
       "--decode-selector: a - Needs --pd-disaggregation or --enable-igw"},
      {{"--service-discovery", "--pd-disaggregation", "--selector", "a=b"},
       "--selector: a - Under --pd-disaggregation, pods"},
      {{"--kv-connector-annotation", "a b"}, "--kv-connector-annotation: a b - Must be the key"},
      {{"--selector", "a"}, "--selector: a - Must be <label>=<value>"},
      {{"--selector", "a=b c"}, "--selector: a=b c - Must be"},
      {{"--selector", "a!=b"}, "--selector: a!=b - Must be"},
      {{"--selector", "a=b", "a=c"}, "--selector: a=c - The label has another value already"},
      {{"--model-id-from", "label:"}, "--model-id-from: label: - Must be namespace, label:"},
      {{"--model-id-from", "pod"}, "--model-id-from: pod - Must be"},
      {{"--service-discovery-port", "65536"}, "--service-discovery-port: 65536 - Must be <="},
  };
  for (const auto& [arguments, problem] : cases) {
    const auto parsed = parse_launch(arguments);
    EXPECT_EQ(parsed.outcome.exit_code, 1) << joined(arguments);
    EXPECT_TRUE(contains(parsed.err, problem)) << parsed.err << problem;
  }
}

TEST_F(DiscoveryFlags, AreRefusedWithAnApiServerThatCannotBeAsked) {
  const std::pair<Arguments, const char*> cases[] = {
      {{"--kubernetes-api-url", "http://10.0.0.1"}, "--kubernetes-api-url: http://10.0.0.1 - must"},
      {{"--kubernetes-api-url", "https://a/k8s"}, "--kubernetes-api-url: https://a/k8s - Must not"},
      {{"--kubernetes-api-url", "https://u:p@a"}, "--kubernetes-api-url: https://***@a - "},
      {{"--kubernetes-api-url", "https://a", "--kubernetes-token-path", "/none"},
       "--kubernetes-token-path: /none - Failed to read the file"},
      {{"--kubernetes-api-url", "https://a", "--kubernetes-ca-cert-path", "/none"},
       "--kubernetes-ca-cert-path: /none - Failed to read the file"},
      {{"--service-discovery-namespace", "A/b"}, "--service-discovery-namespace: A/b - Must be"},
      {{"--service-discovery-port", "0"}, "--service-discovery-port: 0 - Port must be > 0"},
  };
  for (const auto& [further, problem] : cases) {
    Arguments arguments{"--service-discovery", "--selector", "a=b", "--kubernetes-api-url",
                        "http://localhost"};
    arguments.insert(arguments.end(), further.begin(), further.end());
    const auto parsed = parse_launch(arguments);
    EXPECT_EQ(parsed.outcome.exit_code, 1) << joined(arguments);
    EXPECT_TRUE(contains(parsed.err, problem)) << parsed.err << problem;
  }
}

}  // namespace
}  // namespace smg::cli
