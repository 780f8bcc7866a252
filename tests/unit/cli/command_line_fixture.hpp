#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/command_line.hpp"

/// What the tests of the command line share.
namespace smg::cli {

using Arguments = std::vector<std::string>;

struct Parsed {
  ParseOutcome outcome;
  std::string out;
  std::string err;
};

/// Parses `smg` with these arguments.
inline Parsed parse_program(const Arguments& arguments) {
  std::vector<const char*> argv{"smg"};
  for (const auto& argument : arguments) argv.push_back(argument.c_str());
  std::ostringstream out;
  std::ostringstream err;
  auto outcome = parse_command_line(static_cast<int>(argv.size()), argv.data(), out, err);
  return {std::move(outcome), out.str(), err.str()};
}

inline Parsed parse_launch(Arguments arguments) {
  arguments.insert(arguments.begin(), "launch");
  return parse_program(arguments);
}

inline std::string joined(const Arguments& arguments) {
  std::string text;
  for (const auto& argument : arguments) text += argument + " ";
  return text;
}

inline bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

/// Keeps the settings of whoever runs the tests out of them.
class CommandLine : public testing::Test {
 protected:
  CommandLine() {
    Arguments names;
    for (char** variable = environ; *variable != nullptr; ++variable) {
      const std::string_view text(*variable);
      if (text.starts_with("SMG_") || text.starts_with("RUST_LOG=") ||
          text.starts_with("CONTROL_PLANE_") || text.starts_with("JWT_")) {
        names.emplace_back(text.substr(0, text.find('=')));
      }
    }
    for (const auto& name : names) unsetenv(name.c_str());
  }

  ~CommandLine() override {
    for (const auto& name : set_) unsetenv(name.c_str());
    for (const auto& file : files_) std::filesystem::remove(file);
  }

  void set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    set_.push_back(name);
  }

  void unset(const std::string& name) { unsetenv(name.c_str()); }

  std::string file(const std::string& text) {
    auto path = testing::TempDir() + "smg_command_line_" + std::to_string(getpid()) + "_" +
                std::to_string(files_.size()) + ".toml";
    std::ofstream(path) << text;
    return files_.emplace_back(std::move(path));
  }

 private:
  Arguments set_;
  Arguments files_;
};

}  // namespace smg::cli
