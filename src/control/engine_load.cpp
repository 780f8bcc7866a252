#include "control/engine_load.hpp"

#include <algorithm>
#include <cmath>

#include <simdjson.h>

namespace smg::control {
namespace {

/// Counts beyond this are nonsense, and sums of less do not overflow.
constexpr double kLargestCount = 1e15;

double number(const simdjson::dom::object& row, const char* name) {
  double value = 0;
  if (row.at_key(name).get(value) || !std::isfinite(value)) return 0;
  return std::max(value, 0.0);
}

std::uint64_t count(const simdjson::dom::object& row, const char* name) {
  return static_cast<std::uint64_t>(std::min(number(row, name), kLargestCount));
}

std::string text_field(const simdjson::dom::object& object, const char* name) {
  std::string_view text;
  return object.at_key(name).get(text) ? std::string() : std::string(text);
}

RankLoad read_rank(const simdjson::dom::object& row, std::size_t index) {
  RankLoad rank;
  std::uint64_t dp_rank = 0;
  const bool numbered = !row.at_key("dp_rank").get(dp_rank) && dp_rank <= UINT32_MAX;
  rank.dp_rank = static_cast<std::uint32_t>(numbered ? dp_rank : index);
  rank.num_running_reqs = count(row, "num_running_reqs");
  rank.num_waiting_reqs = count(row, "num_waiting_reqs");
  rank.num_waiting_uncached_tokens = count(row, "num_waiting_uncached_tokens");
  rank.num_total_reqs = count(row, "num_total_reqs");
  if (rank.num_total_reqs == 0) rank.num_total_reqs = rank.num_running_reqs + rank.num_waiting_reqs;
  rank.num_used_tokens = count(row, "num_used_tokens");
  rank.max_total_num_tokens = count(row, "max_total_num_tokens");
  rank.token_usage = number(row, "token_usage");
  rank.gen_throughput = number(row, "gen_throughput");
  rank.cache_hit_rate = number(row, "cache_hit_rate");
  rank.utilization = number(row, "utilization");
  rank.max_running_requests = count(row, "max_running_requests");
  return rank;
}

}  // namespace

std::optional<EngineLoad> parse_engine_load(std::string_view json) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  simdjson::dom::array rows;
  if (parser.parse(simdjson::padded_string(json)).get(object)) return std::nullopt;
  if (object.at_key("loads").get(rows)) return std::nullopt;
  EngineLoad load{text_field(object, "timestamp"), text_field(object, "version"), {}};
  for (const auto item : rows) {
    simdjson::dom::object row;
    if (item.get(row)) return std::nullopt;
    load.ranks.push_back(read_rank(row, load.ranks.size()));
  }
  return load;
}

EngineLoad share_of(const EngineLoad& load, const routing::Worker& worker) {
  const auto& own = worker.facts().rank;
  if (!own || load.ranks.size() <= 1) return load;
  EngineLoad share{load.timestamp, load.version, {}};
  std::ranges::copy_if(load.ranks, std::back_inserter(share.ranks),
                       [&](const RankLoad& rank) { return rank.dp_rank == own->rank; });
  return share;
}

routing::LoadReport report_of(const EngineLoad& load) {
  routing::LoadReport report;
  for (const auto& rank : load.ranks) {
    report.token_usage += rank.token_usage;
    report.waiting_requests += rank.num_waiting_reqs;
    report.waiting_uncached_tokens += rank.num_waiting_uncached_tokens;
    report.throughput += rank.gen_throughput;
  }
  if (!load.ranks.empty()) report.token_usage /= static_cast<double>(load.ranks.size());
  return report;
}

void write_fields(JsonWriter& json, const RankLoad& rank) {
  json.field("dp_rank", rank.dp_rank);
  json.field("num_running_reqs", rank.num_running_reqs);
  json.field("num_waiting_reqs", rank.num_waiting_reqs);
  json.field("num_waiting_uncached_tokens", rank.num_waiting_uncached_tokens);
  json.field("num_total_reqs", rank.num_total_reqs);
  json.field("num_used_tokens", rank.num_used_tokens);
  json.field("max_total_num_tokens", rank.max_total_num_tokens);
  json.field("token_usage", rank.token_usage);
  json.field("gen_throughput", rank.gen_throughput);
  json.field("cache_hit_rate", rank.cache_hit_rate);
  json.field("utilization", rank.utilization);
  json.field("max_running_requests", rank.max_running_requests);
}

void write_engine_load(JsonWriter& json, const EngineLoad& load) {
  json.key("engine_load").begin_object();
  json.field("timestamp", load.timestamp).field("version", load.version);
  json.field("dp_rank_count", load.ranks.size()).key("loads").begin_array();
  for (const auto& rank : load.ranks) {
    json.begin_object();
    write_fields(json, rank);
    json.end_object();
  }
  json.end_array().end_object();
}

void LoadTotals::add(const RankLoad& rank) {
  ++rows_;
  sum_.num_running_reqs += rank.num_running_reqs;
  sum_.num_waiting_reqs += rank.num_waiting_reqs;
  sum_.num_total_reqs += rank.num_total_reqs;
  sum_.token_usage += rank.token_usage;
  sum_.gen_throughput += rank.gen_throughput;
  sum_.utilization += rank.utilization;
}

void LoadTotals::write(JsonWriter& json) const {
  const auto rows = static_cast<double>(rows_);
  json.key("aggregate").begin_object();
  json.field("total_running_reqs", sum_.num_running_reqs);
  json.field("total_waiting_reqs", sum_.num_waiting_reqs);
  json.field("total_reqs", sum_.num_total_reqs);
  json.field("avg_token_usage", sum_.token_usage / rows);
  json.field("avg_throughput", sum_.gen_throughput / rows);
  json.field("avg_utilization", sum_.utilization / rows).end_object();
}

}  // namespace smg::control
