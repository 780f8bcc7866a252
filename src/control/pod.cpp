#include "control/pod.hpp"

#include <algorithm>

#include <simdjson.h>

#include <smg/base/text.hpp>
#include <smg/config/ip_literal.hpp>

namespace smg::control {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

constexpr std::string_view kPortsAnnotation = "smg.ai/worker-ports";
constexpr std::string_view kBootstrapAnnotation = "sglang.ai/bootstrap-port";

GatewayError unreadable(const char* what) {
  return fail(ErrorCode::UpstreamBodyFailed, std::string("The API server sent ") + what);
}

/// The text at a path of names; empty where there is none.
template <class... Names>
std::string_view text_at(object from, std::string_view name, Names... further) {
  if constexpr (sizeof...(further) == 0) {
    std::string_view text;
    return from.at_key(name).get(text) ? std::string_view() : text;
  } else {
    object inner;
    return from.at_key(name).get(inner) ? std::string_view() : text_at(inner, further...);
  }
}

bool is_ready(object status) {
  simdjson::dom::array conditions;
  if (text_at(status, "phase") != "Running" || status.at_key("conditions").get(conditions)) {
    return false;
  }
  return std::ranges::any_of(conditions, [](element item) {
    object condition;
    return !item.get(condition) && text_at(condition, "type") == "Ready" &&
           text_at(condition, "status") == "True";
  });
}

std::optional<std::uint16_t> to_port(std::string_view word) {
  const auto number = text::parse_decimal(word);
  if (!number || *number == 0 || *number > UINT16_MAX) return std::nullopt;
  return static_cast<std::uint16_t>(*number);
}

/// The ports of the annotation, or that of the flag where there is none that can be understood.
std::vector<std::uint16_t> ports_of(std::string_view annotation, std::uint16_t otherwise) {
  std::vector<std::uint16_t> ports;
  bool understood = true;
  text::for_each_element(annotation, [&](std::string_view word) {
    const auto port = to_port(word);
    understood = understood && port;
    if (port && std::ranges::find(ports, *port) == ports.end()) ports.push_back(*port);
  });
  if (!understood || ports.empty()) return {otherwise};
  return ports;
}

std::string model_id_of(object meta, const config::ModelIdSource& source) {
  using Kind = config::ModelIdSource::Kind;
  switch (source.kind) {
    case Kind::Worker: break;
    case Kind::Namespace: return std::string(text_at(meta, "namespace"));
    case Kind::Label: return std::string(text_at(meta, "labels", source.key));
    case Kind::Annotation: return std::string(text_at(meta, "annotations", source.key));
  }
  return {};
}

/// What tells prefill and decode workers how caches change hands.
void read_pairing(Pod& pod, object meta, const config::Discovery& settings) {
  pod.bootstrap_port = to_port(text::trim(text_at(meta, "annotations", kBootstrapAnnotation)));
  pod.kv_connector = text_at(meta, "annotations", settings.kv_connector_annotation);
  text::for_each_element(text_at(meta, "annotations", settings.kv_engine_id_annotation),
                         [&](std::string_view id) { pod.kv_engine_ids.emplace_back(id); });
}

Result<Pod> read_pod(object from, const config::Discovery& settings) {
  object meta;
  Pod pod;
  if (from.at_key("metadata").get(meta)) return unreadable("a pod without metadata");
  pod.name = text_at(meta, "name");
  if (pod.name.empty()) return unreadable("a pod without a name");
  pod.pod_namespace = text_at(meta, "namespace");
  pod.uid = text_at(meta, "uid");
  pod.model_id = model_id_of(meta, settings.model_id_from);
  pod.ports = ports_of(text_at(meta, "annotations", kPortsAnnotation), settings.port);
  read_pairing(pod, meta, settings);
  element ending;
  const bool ends = !meta.at_key("deletionTimestamp").get(ending) && !ending.is_null();
  object status;
  if (from.at_key("status").get(status)) return pod;
  pod.ip = config::ip_literal(text_at(status, "podIP")).value_or("");
  pod.ready = !ends && !pod.ip.empty() && is_ready(status);
  return pod;
}

Result<PodEvent> read_error(object status) {
  PodEvent event{PodEvent::Kind::Error, {}, {}, 0, std::string(text_at(status, "message"))};
  std::int64_t code = 0;
  if (!status.at_key("code").get(code)) event.code = static_cast<int>(code);
  return event;
}

}  // namespace

struct PodReader::Parser {
  simdjson::dom::parser parser;

  [[nodiscard]] bool read(std::string_view json, object& out) {
    return parser.parse(json.data(), json.size()).get(out) == simdjson::SUCCESS;
  }
};

PodReader::PodReader(const config::Discovery& settings)
    : settings_(settings), parser_(std::make_unique<Parser>()) {}

PodReader::~PodReader() = default;

Result<PodPage> PodReader::read_page(std::string_view json) {
  Parser parser;  // Its memory is as large as the page: not kept.
  object list;
  simdjson::dom::array items;
  if (!parser.read(json, list)) return unreadable("a list that is no JSON object");
  PodPage page;
  page.version = text_at(list, "metadata", "resourceVersion");
  page.next = text_at(list, "metadata", "continue");
  element found;
  if (page.version.empty() || list.at_key("items").get(found)) {
    return unreadable("something that is no list of pods");
  }
  if (found.is_null()) return page;  // stands for an empty list
  if (found.get(items)) return unreadable("a list without items");
  for (const element item : items) {
    object one;
    if (item.get(one)) return unreadable("a pod that is no object");
    auto pod = read_pod(one, settings_);
    if (!pod) return pod.error();
    page.pods.push_back(std::move(*pod));
  }
  return page;
}

Result<PodEvent> PodReader::read_event(std::string_view json) {
  object line;
  object subject;
  if (!parser_->read(json, line) || line.at_key("object").get(subject)) {
    return unreadable("an event that cannot be read");
  }
  const std::string_view type = text_at(line, "type");
  if (type == "ERROR") return read_error(subject);
  PodEvent event;
  event.version = text_at(subject, "metadata", "resourceVersion");
  if (event.version.empty()) return unreadable("an event without a version");
  if (type == "BOOKMARK") return event;
  if (type != "ADDED" && type != "MODIFIED" && type != "DELETED") {
    return unreadable("an event of an unknown type");
  }
  event.kind = type == "DELETED" ? PodEvent::Kind::Deleted : PodEvent::Kind::Changed;
  auto pod = read_pod(subject, settings_);
  if (!pod) return pod.error();
  event.pod = std::move(*pod);
  return event;
}

std::string PodReader::read_refusal(std::string_view json) {
  object status;
  if (!parser_->read(json, status) || text_at(status, "kind") != "Status") return {};
  return std::string(text_at(status, "message"));
}

}  // namespace smg::control
