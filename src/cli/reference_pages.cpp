#include <ostream>

#include "cli/command_line.hpp"
#include "cli/documents.hpp"
#include <smg/observability/metrics.hpp>

namespace smg::cli {
namespace {

/// Text in the cell of a table.
std::string cell(std::string_view text) {
  return escaped(text, "|<*\\", "\\");
}

std::string code(const std::string& text) {
  return "`" + text + "`";
}

void write_flag(const FlagFacts& flag, std::ostream& out) {
  out << "| ";
  for (const auto* names : {&flag.names, &flag.negatives}) {
    for (const auto& name : *names) out << (&name == &flag.names.front() ? "" : ", ") << code(name);
  }
  if (!flag.value_name.empty()) out << ' ' << cell(flag.value_name);
  out << " | " << cell(flag.default_text) << " | " << cell(flag.help) << " |\n";
}

}  // namespace

void write_flags_page(std::ostream& out) {
  out << "# Flags of `smg launch`\n\n"
         "Made by `smg print flags`; `smg launch --help` shows the same.\n\n"
         "`--flag VALUE` and `--flag=VALUE` are the same. Of a flag given twice the last counts; "
         "lists\n(`VALUE...`) add up. Each flag is also a variable, `SMG_` and its name in "
         "capitals\n(`SMG_MAX_PAYLOAD_SIZE`), and a key without dashes in front in the file of "
         "`--config`; the command line\nwins over the environment, the environment over the "
         "file. `smg serve` takes the same flags, with\n`--backend echo` required and "
         "`round_robin` for a policy.\n";
  std::string heading;
  for (const auto& flag : flags_of_launch()) {
    if (flag.heading != heading) {
      heading = flag.heading;
      out << "\n## " << heading << "\n\n| Flag | Default | Meaning |\n| --- | --- | --- |\n";
    }
    write_flag(flag, out);
  }
}

void write_metrics_page(std::ostream& out) {
  out << "# Metrics\n\n"
         "Made by `smg print metrics`. `GET /metrics` on `--prometheus-port` has them in the text "
         "format of Prometheus;\na metric appears with its first sample. Histograms have the "
         "series `_bucket`, `_sum` and `_count`.\n\n"
         "| Metric | Type | Labels | Meaning |\n| --- | --- | --- | --- |\n";
  for (const auto& metric : observability::Metrics({1}, SMG_VERSION).metrics()) {
    out << "| " << code(metric.name) << " | " << metric.type << " | ";
    for (const auto& label : metric.labels) {
      out << (&label == &metric.labels.front() ? "" : ", ") << code(label);
    }
    out << " | " << cell(metric.help) << " |\n";
  }
}

}  // namespace smg::cli
