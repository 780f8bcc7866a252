#include "control/worker_metadata.hpp"

#include <array>
#include <utility>

#include <simdjson.h>

#include <smg/base/text.hpp>

namespace smg::control {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

/// The scalars that become labels.
constexpr std::array<std::string_view, 25> kLabels{
    "architectures",
    "context_length",
    "disaggregation_mode",
    "disaggregation_transfer_backend",
    "dp_size",
    "has_audio_understanding",
    "has_image_understanding",
    "is_embedding",
    "is_generation",
    "load_balance_method",
    "max_context_length",
    "max_model_len",
    "max_num_reqs",
    "max_running_requests",
    "max_seq_len",
    "max_total_tokens",
    "model_id",
    "model_path",
    "model_type",
    "pp_size",
    "served_model_name",
    "tokenizer_path",
    "tp_size",
    "version",
    "weight_version",
};

/// A scalar, or a list as its JSON; empty for null, objects and empty strings.
std::string text_of(const element& value) {
  switch (value.type()) {
    case element_type::STRING: {
      std::string_view text;
      return value.get(text) ? std::string() : std::string(text);
    }
    case element_type::BOOL:
    case element_type::INT64:
    case element_type::UINT64:
    case element_type::DOUBLE:
    case element_type::ARRAY: return simdjson::minify(value);
    case element_type::OBJECT:
    case element_type::NULL_VALUE: return {};
  }
  return {};
}

/// Parses `json` and calls `visit` with it if it is an object.
template <class Visit>
void with_object(std::string_view json, Visit visit) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (!parser.parse(simdjson::padded_string(json)).get(object)) visit(object);
}

std::string string_field(const simdjson::dom::object& object, const char* name) {
  std::string_view text;
  return object.at_key(name).get(text) ? std::string() : std::string(text);
}

DiscoveredModel model_of(const simdjson::dom::object& entry) {
  DiscoveredModel model{string_field(entry, "id"), std::nullopt};
  std::uint64_t length = 0;
  if (!entry.at_key("max_model_len").get(length)) model.max_model_len = length;
  return model;
}

}  // namespace

void MetadataReader::label(std::string_view name, std::string content) {
  if (!content.empty()) found_.labels.try_emplace(std::string(name), std::move(content));
}

void MetadataReader::read_info(std::string_view json) {
  with_object(json, [&](const simdjson::dom::object& info) {
    for (const auto name : kLabels) {
      element value;
      if (!info.at_key(name).get(value)) label(name, text_of(value));
    }
  });
}

void MetadataReader::read_models(std::string_view json) {
  with_object(json, [&](const simdjson::dom::object& listing) {
    simdjson::dom::array entries;
    if (listing.at_key("data").get(entries)) return;
    for (const auto item : entries) {
      simdjson::dom::object entry;
      if (item.get(entry)) continue;
      auto model = model_of(entry);
      if (model.id.empty()) continue;
      if (found_.models.empty()) {
        owner_ = text::to_lower(string_field(entry, "owned_by"));
        label("served_model_name", model.id);
        label("model_path", string_field(entry, "root"));
        if (model.max_model_len) label("max_model_len", std::to_string(*model.max_model_len));
      }
      found_.models.push_back(std::move(model));
    }
  });
}

void MetadataReader::read_version(std::string_view json) {
  with_object(json, [&](const simdjson::dom::object& answer) {
    label("version", string_field(answer, "version"));
  });
}

std::string MetadataReader::runtime_type() const {
  if (owner_ == "sglang" || owner_ == "nvidia") return "sglang";
  if (owner_ == "vllm") return "vllm";
  if (has_version_) return "vllm";
  if (has_server_info_) return "sglang";
  return found_.models.empty() ? "unspecified" : "generic";
}

DiscoveredWorker MetadataReader::take() {
  found_.runtime_type = runtime_type();
  return std::move(found_);
}

}  // namespace smg::control
