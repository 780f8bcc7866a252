#include <cstdlib>

#include "cli/options.hpp"
#include <smg/base/text.hpp>

namespace smg::cli {
namespace {

std::string variable(const char* name) {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): read at the start, before there are threads.
  const char* content = std::getenv(name);
  return content == nullptr ? "" : content;
}

/// Adds `key=value` words; one word may hold several, with commas between them.
void add_labels(config::PodSelector& labels, const Words& words) {
  Words reasons;
  for (const auto& word : words) {
    text::for_each_element(word, [&](std::string_view element) {
      const auto equals = element.find('=');
      const auto key = element.substr(0, equals);
      if (equals == std::string_view::npos || !config::is_label_key(key) ||
          !config::is_label_value(element.substr(equals + 1))) {
        reasons.push_back(std::string(element) + " - Must be <label>=<value>");
        return;
      }
      const std::string content(element.substr(equals + 1));
      const auto [known, added] = labels.try_emplace(std::string(key), content);
      if (!added && known->second != content) {
        reasons.push_back(std::string(element) + " - The label has another value already");
      }
    });
  }
  if (!reasons.empty()) throw ValueError(std::move(reasons));
}

config::ModelIdSource to_model_id_source(const std::string& word) {
  using Kind = config::ModelIdSource::Kind;
  if (word == "namespace") return {Kind::Namespace, {}};
  for (const auto& [prefix, kind] :
       {std::pair{"label:", Kind::Label}, std::pair{"annotation:", Kind::Annotation}}) {
    if (!word.starts_with(prefix)) continue;
    const std::string key = word.substr(std::string_view(prefix).size());
    if (config::is_label_key(key)) return {kind, key};
  }
  throw ValueError(word + " - Must be namespace, label:<key> or annotation:<key>");
}

void bind_pods(FlagSet& flags, config::Discovery& discovery) {
  const auto selector = [&](const FlagText& text, config::PodSelector& labels) {
    flags.add({text, "none", Arity::AtLeastOne,
               [&labels](const Words& words) { add_labels(labels, words); }});
  };
  const auto annotation = [&](const FlagText& text, std::string& name) {
    flags.add({text, name, Arity::One, [&name](const Words& words) {
                 if (!config::is_label_key(words.front())) {
                   throw ValueError(words.front() + " - Must be the key of an annotation");
                 }
                 name = words.front();
               }});
  };
  selector({"--selector", "KEY=VALUE...", "labels of the workers' pods"}, discovery.selector);
  selector({"--prefill-selector", "KEY=VALUE...", "labels of prefill workers' pods"},
           discovery.prefill_selector);
  selector({"--decode-selector", "KEY=VALUE...", "labels of decode workers' pods"},
           discovery.decode_selector);
  flags.number({"--service-discovery-port", "PORT",
                "where workers listen in their pods, unless the annotation smg.ai/worker-ports "
                "has one port or several"},
               discovery.port);
  flags.add({{"--service-discovery-namespace", "NAME", "where the pods are"},
             "all",
             Arity::One,
             [&out = discovery.pod_namespace](const Words& words) { out = words.front(); }});
  flags.add({{"--model-id-from", "SOURCE",
              "what names a pod's model, the worker's own name becoming an alias: namespace, "
              "label:<key> or annotation:<key>"},
             "the worker",
             Arity::One,
             [&source = discovery.model_id_from](const Words& words) {
               source = to_model_id_source(words.front());
             }});
  annotation({"--kv-connector-annotation", "KEY", "where a pod tells its worker's kv_connector"},
             discovery.kv_connector_annotation);
  annotation({"--kv-engine-id-annotation", "KEY", "where a pod tells its worker's kv_engine_id"},
             discovery.kv_engine_id_annotation);
}

void bind_api_server(FlagSet& flags, config::Discovery& discovery) {
  discovery.api_url = config::cluster_api_url(variable("KUBERNETES_SERVICE_HOST"),
                                              variable("KUBERNETES_SERVICE_PORT"));
  flags.add({{"--kubernetes-api-url", "URL", "the API server: https, or http on this machine"},
             "that of KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT",
             Arity::One,
             [&url = discovery.api_url](const Words& words) { url = words.front(); }});
  flags.text({"--kubernetes-token-path", "FILE", "the token shown to it, read for each call"},
             discovery.token_path);
  flags.text({"--kubernetes-ca-cert-path", "FILE", "PEM: who may vouch for it"},
             discovery.ca_cert_path);
}

}  // namespace

void bind_discovery(FlagSet& flags, config::Discovery& discovery) {
  flags.group("Workers in Kubernetes");
  flags.toggle({"--service-discovery", "", "the ready pods of the selectors are workers"},
               discovery.enabled);
  bind_pods(flags, discovery);
  bind_api_server(flags, discovery);
}

}  // namespace smg::cli
