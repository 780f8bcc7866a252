#include <exception>
#include <iostream>

#include "cli/command_line.hpp"
#include <smg/cli/run.hpp>
#include <smg/gateway/run_daemon.hpp>

namespace smg::cli {

int run(int argc, char** argv) {
  try {
    const auto outcome = parse_command_line(argc, argv, std::cout, std::cerr);
    if (outcome.exit_code) return *outcome.exit_code;
    return gateway::run_daemon(outcome.config, {.echo_backend = outcome.echo_backend});
  } catch (const std::exception& error) {
    std::cerr << "smg: error: " << error.what() << '\n';
    return 1;
  }
}

}  // namespace smg::cli
