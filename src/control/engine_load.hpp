#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/json_writer.hpp"
#include <smg/routing/worker.hpp>

namespace smg::control {

/// The load of one data-parallel rank of an engine (policies_and_workers A2).
/// What it does not tell is 0.
struct RankLoad {
  std::uint32_t dp_rank = 0;
  std::uint64_t num_running_reqs = 0;
  std::uint64_t num_waiting_reqs = 0;
  std::uint64_t num_waiting_uncached_tokens = 0;
  std::uint64_t num_total_reqs = 0;
  std::uint64_t num_used_tokens = 0;
  std::uint64_t max_total_num_tokens = 0;
  double token_usage = 0;
  double gen_throughput = 0;
  double cache_hit_rate = 0;
  double utilization = 0;
  std::uint64_t max_running_requests = 0;
};

/// What an engine reports of its load.
struct EngineLoad {
  std::string timestamp;  ///< as the engine gives it
  std::string version;
  std::vector<RankLoad> ranks;
};

/// Reads the answer of `/loads` or `/v1/loads`: nothing unless it is an object
/// with an array of objects `loads`. Fields of a wrong type, and numbers that
/// cannot be, count as 0.
[[nodiscard]] std::optional<EngineLoad> parse_engine_load(std::string_view json);

/// Reads the load from an engine's `/metrics`: nothing unless `runtime` is vllm
/// or sglang and its gauges are there. Ranks are told apart by the labels
/// `engine` (vllm) and `dp_rank` (sglang).
[[nodiscard]] std::optional<EngineLoad> parse_engine_metrics(std::string_view runtime,
                                                             std::string_view exposition);

/// The part of an engine's load that is a worker's: its own rank's row, where
/// the worker is a rank and the engine reports more than one; else all of it.
/// Without rows: the engine says nothing.
[[nodiscard]] EngineLoad share_of(const EngineLoad& load, const routing::Worker& worker);

/// What routing makes of it: token usage is averaged over the ranks, all else
/// added up.
[[nodiscard]] routing::LoadReport report_of(const EngineLoad& load);

/// Writes the fields of a row into the open object.
void write_fields(JsonWriter& json, const RankLoad& rank);
/// Writes the object `engine_load` (A2).
void write_engine_load(JsonWriter& json, const EngineLoad& load);

/// The sums over all rows of `/get_loads` (A3).
class LoadTotals {
 public:
  void add(const RankLoad& rank);
  [[nodiscard]] std::size_t rows() const noexcept { return rows_; }
  /// Writes the object `aggregate`; only with rows.
  void write(JsonWriter& json) const;

 private:
  std::size_t rows_ = 0;
  RankLoad sum_;
};

}  // namespace smg::control
