#include "control/engine_metrics.hpp"

#include <algorithm>

#include <smg/base/text.hpp>

namespace smg::control {
namespace {

std::string plain_name(std::string_view name) {
  std::string plain(name);
  std::ranges::replace(plain, ':', '_');
  return plain;
}

std::string_view first_word(std::string_view text) {
  return text.substr(0, text.find(' '));
}

std::string_view after_first_word(std::string_view text) {
  const auto space = text.find(' ');
  return space == std::string_view::npos ? std::string_view{} : text::trim(text.substr(space + 1));
}

std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace

EngineMetrics::Family& EngineMetrics::family(std::string_view name) {
  const auto found = families_.find(name);
  if (found != families_.end()) return found->second;
  order_.emplace_back(name);
  return families_[std::string(name)];
}

void EngineMetrics::add(std::string_view worker_url, std::string_view exposition) {
  std::string current;
  while (!exposition.empty()) {
    const auto line = take_line(exposition);
    if (line.starts_with('#')) {
      add_comment(text::trim(line.substr(1)), current);
    } else if (const auto sample = parse_sample(line)) {
      add_sample(*sample, worker_url, current);
    }
  }
}

/// HELP and TYPE name the family that the following samples belong to.
void EngineMetrics::add_comment(std::string_view line, std::string& current) {
  const auto kind = first_word(line);
  if (kind != "HELP" && kind != "TYPE") return;
  const auto rest = after_first_word(line);
  current = plain_name(first_word(rest));
  Family& target = family(current);
  std::string& slot = kind == "HELP" ? target.help : target.type;
  if (slot.empty()) slot = after_first_word(rest);
}

void EngineMetrics::add_sample(const ExpositionSample& sample, std::string_view worker_url,
                               std::string_view current) {
  const std::string name = plain_name(sample.name);
  const bool belongs = !current.empty() && std::string_view(name).starts_with(current);
  std::string& out = family(belongs ? current : std::string_view(name)).samples;
  out.append(name).append("{").append(sample.labels).append(sample.labels.empty() ? "" : ",");
  out.append("worker_addr=\"").append(label_value(worker_url)).append("\"} ");
  out.append(sample.value).append("\n");
}

std::string EngineMetrics::text() const {
  std::string out;
  for (const auto& name : order_) {
    const Family& family = families_.find(name)->second;
    if (!family.help.empty()) out += "# HELP " + name + " " + family.help + "\n";
    if (!family.type.empty()) out += "# TYPE " + name + " " + family.type + "\n";
    out += family.samples;
  }
  return out;
}

}  // namespace smg::control
