#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace smg::cli {

/// Help as `  --flag VALUE   what it does [default]`, in lines that fit a terminal.
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter();

  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_group(std::string group, bool is_positional,
                         std::vector<const CLI::Option*> options) const override;
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_desc(const CLI::Option* option) const override;
  std::string make_footer(const CLI::App* app) const override;
};

}  // namespace smg::cli
