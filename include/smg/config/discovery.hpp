#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace smg::config {

/// Where a pod says which model its worker serves.
struct ModelIdSource {
  enum class Kind : std::uint8_t { Worker, Namespace, Label, Annotation };

  Kind kind = Kind::Worker;  ///< Worker: the pod says nothing, the worker itself is asked
  std::string key;           ///< of the label or annotation

  friend bool operator==(const ModelIdSource&, const ModelIdSource&) = default;
};

/// Labels that pods must have, with their values; empty: no pods.
using PodSelector = std::map<std::string, std::string>;

/// Workers that are pods of a Kubernetes cluster.
struct Discovery {
  bool enabled = false;          ///< --service-discovery
  PodSelector selector;          ///< --selector
  PodSelector prefill_selector;  ///< --prefill-selector
  PodSelector decode_selector;   ///< --decode-selector
  std::uint16_t port = 80;       ///< --service-discovery-port
  std::string pod_namespace;     ///< --service-discovery-namespace; empty: all of the cluster
  ModelIdSource model_id_from;   ///< --model-id-from
  std::string kv_connector_annotation = "smg.ai/kv-connector";  ///< --kv-connector-annotation
  std::string kv_engine_id_annotation = "smg.ai/kv-engine-id";  ///< --kv-engine-id-annotation

  /// --kubernetes-api-url (ours): https, or http with this machine; empty: there is none.
  std::string api_url;
  /// --kubernetes-token-path (ours), read again for each call.
  std::string token_path = "/var/run/secrets/kubernetes.io/serviceaccount/token";
  /// --kubernetes-ca-cert-path (ours), PEM: who may vouch for the API server.
  std::string ca_cert_path = "/var/run/secrets/kubernetes.io/serviceaccount/ca.crt";
};

/// The address of the API server from what Kubernetes puts into the environment of a container:
/// KUBERNETES_SERVICE_HOST, an address, and KUBERNETES_SERVICE_PORT. Empty without a host.
[[nodiscard]] std::string cluster_api_url(std::string_view host, std::string_view port);

/// The key of a label or an annotation: `[prefix/]name`, where the name has up to 63 letters,
/// digits, `-_.` and begins and ends with one of the former, and the prefix is a DNS name.
[[nodiscard]] bool is_label_key(std::string_view text);

/// The value of a label: as a name, or empty.
[[nodiscard]] bool is_label_value(std::string_view text);

/// The name of a namespace: up to 63 small letters, digits and inner hyphens.
[[nodiscard]] bool is_namespace(std::string_view text);

}  // namespace smg::config
