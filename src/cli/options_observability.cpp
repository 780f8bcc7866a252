#include <array>
#include <utility>

#include "cli/options.hpp"

namespace smg::cli {
namespace {

using config::LogLevel;

constexpr std::array<std::pair<std::string_view, LogLevel>, 4> kLevels{
    {{"debug", LogLevel::Debug},
     {"info", LogLevel::Info},
     {"warn", LogLevel::Warn},
     {"error", LogLevel::Error}}};

std::string name_of(LogLevel level) {
  for (const auto& [name, known] : kLevels) {
    if (known == level) return std::string(name);
  }
  return {};
}

LogLevel to_level(const std::string& word) {
  for (const auto& [name, level] : kLevels) {
    if (name == word) return level;
  }
  throw UsageError("'" + word + "' is none of debug, info, warn, error");
}

}  // namespace

void bind_observability(FlagSet& flags, config::Observability& observability) {
  flags.group("Logs and metrics");
  flags.add(
      {{"--log-level", "LEVEL",
        "least severity that is logged: debug, info, warn, error; else from SMG_LOG or "
        "RUST_LOG"},
       name_of(observability.log_level),
       Arity::One,
       [&level = observability.log_level](const Words& words) { level = to_level(words.front()); },
       {"SMG_LOG", "RUST_LOG"},
       {"debug", "info", "warn", "error"}});
  flags.toggle({"--log-json", "", "log in JSON, one object a line"}, observability.log_json);
  flags.text({"--log-dir", "DIR", "directory for log files"}, observability.log_dir);
  flags.number({"--prometheus-port", "PORT", "metrics port"}, observability.prometheus_port);
  flags.text({"--prometheus-host", "IP", "address of the metrics port"},
             observability.prometheus_host);
  auto& bounds = observability.duration_buckets;
  std::string joined;
  for (const double bound : bounds) joined += (joined.empty() ? "" : " ") + shown(bound);
  flags.add({{"--prometheus-duration-buckets", "SECS...", "ascending bounds of duration metrics"},
             joined,
             Arity::AtLeastOne,
             [&bounds](const Words& words) {
               std::vector<double> given;
               for (const auto& word : words) given.push_back(to_double(word));
               bounds = std::move(given);
             }});
}

void bind_tracing(FlagSet& flags, config::Tracing& tracing) {
  flags.group("Traces");
  flags.toggle({"--enable-trace", "", "export OpenTelemetry traces of requests"}, tracing.enabled);
  flags.text(
      {"--otlp-traces-endpoint", "HOST:PORT", "collector that takes OTLP over HTTP (not gRPC)"},
      tracing.otlp_endpoint);
}

}  // namespace smg::cli
