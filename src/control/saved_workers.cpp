#include "control/saved_workers.hpp"

#include <set>

#include "control/json_fields.hpp"
#include "control/spec_json.hpp"
#include <smg/base/uuid.hpp>

namespace smg::control {
namespace {

constexpr std::uint32_t kVersion = 1;

ControlError damaged(std::string why) {
  return {500, "STATE_DAMAGED", std::move(why)};
}

SavedWorker read_worker(JsonFields& fields) {
  SavedWorker worker;
  fields.read("ids", worker.ids);
  bool has_spec = false;
  fields.object("spec", [&](JsonFields& spec) {
    has_spec = true;
    read_worker_spec(spec, worker.spec);
  });
  if (worker.ids.empty() || !has_spec) fields.refuse(damaged("A worker lacks its id or its spec"));
  return worker;
}

/// Why the workers cannot all be meant; nothing if they can.
std::optional<ControlError> contradiction(const std::vector<SavedWorker>& workers) {
  std::set<std::string_view> ids;
  std::set<std::string_view> urls;
  for (const auto& worker : workers) {
    if (!urls.insert(worker.spec.url.text).second) return damaged("Two workers have one URL");
    for (const auto& id : worker.ids) {
      if (!is_uuid(id)) return damaged("A worker's id is no UUID");
      if (!ids.insert(id).second) return damaged("Two workers have one id");
    }
  }
  return std::nullopt;
}

}  // namespace

std::string write_state(const std::vector<SavedWorker>& workers) {
  JsonWriter json;
  json.begin_object().field("version", kVersion).key("workers").begin_array();
  for (const auto& worker : workers) {
    json.begin_object().list("ids", worker.ids).key("spec");
    write_spec(json, worker.spec);
    json.end_object();
  }
  json.end_array().end_object();
  return json.take() + "\n";
}

ControlResult<std::vector<SavedWorker>> parse_state(std::string_view text) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (const auto code = parser.parse(simdjson::padded_string(text)).get(object)) {
    return damaged(simdjson::error_message(code));
  }
  JsonFields fields(object, {});
  std::optional<std::uint32_t> version;
  fields.read("version", version);
  if (fields.error() || !version) return damaged("It has no version");
  if (*version != kVersion) {
    return ControlError{500, "STATE_VERSION", "It is of version " + std::to_string(*version)};
  }
  simdjson::dom::array list;
  if (object.at_key("workers").get(list)) return damaged("It has no list of workers");
  std::vector<SavedWorker> workers;
  fields.objects("workers", [&](JsonFields& one) { workers.push_back(read_worker(one)); });
  if (fields.error()) return damaged(fields.error()->message);
  if (auto why = contradiction(workers)) return std::move(*why);
  return workers;
}

}  // namespace smg::control
