#include "control/worker_json.hpp"

#include "control/spec_json.hpp"

namespace smg::control {
namespace {

std::string_view name_of(JobType type) {
  switch (type) {
    case JobType::AddWorker: return "AddWorker";
    case JobType::UpdateWorker: return "UpdateWorker";
    case JobType::RemoveWorker: return "RemoveWorker";
  }
  return {};
}

void write_job(JsonWriter& json, const WorkerEntry& entry) {
  if (!entry.job) return;
  const Job& job = *entry.job;
  json.key("job_status").begin_object();
  json.field("job_type", name_of(job.type)).field("worker_url", entry.url());
  json.field("status", job.state == JobState::Failed ? "failed" : "processing");
  json.key("message");
  if (job.message.empty()) {
    json.null();
  } else {
    json.value(job.message);
  }
  json.field("timestamp", job.timestamp).end_object();
}

void write_rank(JsonWriter& json, const routing::DataParallelRank& rank) {
  json.field("dp_base_url", rank.base_url).field("dp_rank", rank.rank).field("dp_size", rank.size);
}

/// What matters where workers share requests.
void write_sharing(JsonWriter& json, const WorkerSpec& spec, const routing::Worker* worker) {
  if (spec.bootstrap_port) json.field("bootstrap_port", *spec.bootstrap_port);
  if (!spec.kv_connector.empty()) json.field("kv_connector", spec.kv_connector);
  if (!spec.kv_engine_id.empty()) json.field("kv_engine_id", spec.kv_engine_id);
  if (worker == nullptr || spec.role == routing::WorkerRole::Regular) return;
  json.field("pd_pairing", worker->facts().pd.pairing.text());
}

void write_load(JsonWriter& json, const WorkerEntry& entry, const routing::Worker& worker) {
  const EngineLoad* const load = entry.current_load();
  if (load == nullptr) return;
  const EngineLoad share = share_of(*load, worker);
  if (!share.ranks.empty()) write_engine_load(json, share);
}

}  // namespace

void write_worker(JsonWriter& json, const WorkerEntry& entry, const routing::Worker* worker,
                  const config::Fleet& flags) {
  const WorkerSpec& spec = entry.spec;
  const routing::WorkerStatus status = worker != nullptr ? worker->status() : entry.status();
  std::string runtime = spec.runtime_type.empty() ? "unspecified" : spec.runtime_type;
  json.begin_object().field("id", worker != nullptr ? worker->facts().id : entry.id);
  if (worker != nullptr) json.field("model_id", worker->facts().models.front().id);
  json.field("url", worker != nullptr ? worker->url() : entry.url());
  if (worker != nullptr) {
    runtime = worker->facts().runtime_type;
    json.key("models").begin_array();
    for (const auto& card : model_cards(spec, entry.discovered, flags)) write_card(json, card);
    json.end_array();
  }
  json.field("worker_type", name_of(spec.role));
  write_sharing(json, spec, worker);
  json.field("connection_mode", "http");
  json.field("runtime_type", runtime);
  write_labels(json, worker != nullptr ? worker->facts().labels : spec.labels);
  json.field("priority", spec.priority).field("cost", spec.cost);
  if (worker != nullptr && worker->facts().rank) write_rank(json, *worker->facts().rank);
  json.field("max_connection_attempts", spec.max_connection_attempts);
  json.field("is_healthy", status == routing::WorkerStatus::Ready);
  json.field("status", routing::name_of(status));
  json.field("load", worker != nullptr ? worker->load() : 0U);
  json.field("http2", worker != nullptr && worker->facts().http2);
  if (worker != nullptr) write_load(json, entry, *worker);
  write_overrides(json, spec);
  write_job(json, entry);
  json.end_object();
}

}  // namespace smg::control
