#pragma once

#include <cstdint>
#include <string_view>

#include <smg/net/deadline_queue.hpp>
#include <smg/upstream/fetch.hpp>

/// What a collector's answer means (OTLP specification, "OTLP/HTTP Response").
namespace smg::control {

enum class ExportVerdict : std::uint8_t {
  Accepted,
  TryAgain,  ///< the collector was not reached, or asks for patience
  Refused,   ///< it will not take this batch, however often it is sent
};

[[nodiscard]] ExportVerdict judge_export(const Result<upstream::FetchedResponse>& response);

/// How many spans of an accepted batch the collector has thrown away, by its `partialSuccess`.
[[nodiscard]] std::uint64_t rejected_spans(std::string_view body);

/// How often a batch is sent before it is given up.
inline constexpr unsigned kMostExports = 4;

/// The pause behind the `failures`th failure of a batch in a row, from 1.
[[nodiscard]] net::Duration export_backoff(unsigned failures);

}  // namespace smg::control
