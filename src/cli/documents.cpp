#include "cli/documents.hpp"

#include <algorithm>
#include <array>
#include <ostream>

namespace smg::cli {
namespace {

using Write = void (*)(std::ostream&);

constexpr std::array<std::string_view, 6> kNames{"man", "bash", "zsh", "fish", "flags", "metrics"};
constexpr std::array<Write, kNames.size()> kWriters{write_manual_page,    write_bash_completion,
                                                    write_zsh_completion, write_fish_completion,
                                                    write_flags_page,     write_metrics_page};

}  // namespace

std::span<const std::string_view> document_names() {
  return kNames;
}

bool write_document(std::string_view name, std::ostream& out) {
  const auto found = std::ranges::find(kNames, name);
  if (found == kNames.end()) return false;
  kWriters[static_cast<std::size_t>(found - kNames.begin())](out);
  return true;
}

std::string escaped(std::string_view text, std::string_view special, std::string_view with) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += with;
    out += c;
  }
  return out;
}

}  // namespace smg::cli
