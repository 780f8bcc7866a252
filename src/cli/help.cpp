#include "cli/help.hpp"

#include <sstream>

#include "cli/support_status.hpp"

namespace smg::cli {
namespace {

constexpr std::size_t kNameColumns = 44;
constexpr std::size_t kTextColumns = 56;

/// Breaks lines between words; CLI11 indents what follows a line break.
std::string wrapped(const std::string& text) {
  std::istringstream words(text);
  std::string out;
  std::size_t column = 0;
  for (std::string word; words >> word; column += word.size()) {
    if (column != 0) {
      const bool fits = column + 1 + word.size() <= kTextColumns;
      out += fits ? ' ' : '\n';
      column = fits ? column + 1 : 0;
    }
    out += word;
  }
  return out;
}

}  // namespace

HelpFormatter::HelpFormatter() {
  column_width(kNameColumns);
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  return CLI::Formatter::make_usage(app, std::move(name)) + "\n";
}

std::string HelpFormatter::make_group(std::string group, bool is_positional,
                                      std::vector<const CLI::Option*> options) const {
  // CLI11 puts an empty line before a group as well as after it.
  return CLI::Formatter::make_group(std::move(group), is_positional, std::move(options)).substr(1);
}

std::string HelpFormatter::make_option_name(const CLI::Option* option, bool is_positional) const {
  auto names = CLI::Formatter::make_option_name(option, is_positional);
  // CLI11 shows what a negative switch stands for; its name says so.
  constexpr std::string_view kNegative = "{false}";
  for (auto at = names.find(kNegative); at != std::string::npos; at = names.find(kNegative)) {
    names.erase(at, kNegative.size());
  }
  return names;
}

std::string HelpFormatter::make_option_desc(const CLI::Option* option) const {
  return wrapped(option->get_description());
}

std::string HelpFormatter::make_footer(const CLI::App*) const {
  std::string footer = "Refused as well: all of";
  for (const auto family : refused_families()) footer += " " + std::string(family) + "*";
  return footer + "\n";
}

}  // namespace smg::cli
