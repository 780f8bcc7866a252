#include "control/export_rule.hpp"

#include <algorithm>

#include <simdjson.h>

#include <smg/base/text.hpp>

namespace smg::control {

ExportVerdict judge_export(const Result<upstream::FetchedResponse>& response) {
  if (!response) {
    // It was received, whatever came back.
    const bool answered = response.error().code == ErrorCode::UpstreamResponseTooLarge;
    return answered ? ExportVerdict::Accepted : ExportVerdict::TryAgain;
  }
  if (response->ok()) return ExportVerdict::Accepted;
  switch (response->status) {
    case 429:
    case 502:
    case 503:
    case 504: return ExportVerdict::TryAgain;
    default: return ExportVerdict::Refused;
  }
}

std::uint64_t rejected_spans(std::string_view body) {
  simdjson::dom::parser parser;
  simdjson::dom::element rejected;
  const simdjson::padded_string padded(body);
  if (parser.parse(padded)["partialSuccess"]["rejectedSpans"].get(rejected)) return 0;
  // A 64-bit number: a string by the rules of protocol buffers, though not every collector's.
  std::string_view digits;
  if (!rejected.get(digits)) return text::parse_decimal(digits).value_or(0);
  std::uint64_t number = 0;
  return rejected.get(number) ? 0 : number;
}

net::Duration export_backoff(unsigned failures) {
  constexpr net::Duration kFirst = std::chrono::milliseconds(500);
  constexpr unsigned kMostDoublings = 4;
  return kFirst * (1U << std::min(failures - 1, kMostDoublings));
}

}  // namespace smg::control
