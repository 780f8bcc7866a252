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

bool starts_metric_name(char c) noexcept {
  const char letter = text::lower(c);
  return (letter >= 'a' && letter <= 'z') || c == '_' || c == ':';
}

/// The place of the brace that closes the labels, outside any quoted value; npos: there is none.
std::size_t end_of_labels(std::string_view line) noexcept {
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && quoted) {
      ++i;
    } else if (line[i] == '"') {
      quoted = !quoted;
    } else if (line[i] == '}' && !quoted) {
      return i;
    }
  }
  return std::string_view::npos;
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
    auto line = exposition.substr(0, exposition.find('\n'));
    exposition.remove_prefix(std::min(line.size() + 1, exposition.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = text::trim(line);
    if (line.starts_with('#')) {
      add_comment(text::trim(line.substr(1)), current);
    } else if (!line.empty() && starts_metric_name(line.front())) {
      add_sample(line, worker_url, current);
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

void EngineMetrics::add_sample(std::string_view line, std::string_view worker_url,
                               std::string_view current) {
  const auto name_end = line.find_first_of("{ \t");
  if (name_end == std::string_view::npos) return;
  const std::string name = plain_name(line.substr(0, name_end));
  std::string_view labels;
  auto value = text::trim(line.substr(name_end));
  if (value.starts_with('{')) {
    const auto end = end_of_labels(value);
    if (end == std::string_view::npos) return;
    labels = text::trim(value.substr(1, end - 1));
    value = text::trim(value.substr(end + 1));
  }
  if (value.empty()) return;
  if (labels.ends_with(',')) labels.remove_suffix(1);
  const bool belongs = !current.empty() && std::string_view(name).starts_with(current);
  std::string& out = family(belongs ? current : std::string_view(name)).samples;
  out.append(name).append("{").append(labels).append(labels.empty() ? "" : ",");
  out.append("worker_addr=\"").append(label_value(worker_url)).append("\"} ");
  out.append(value).append("\n");
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
