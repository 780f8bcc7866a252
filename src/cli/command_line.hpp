#pragma once

#include <iosfwd>
#include <optional>
#include <vector>

#include "cli/flag_facts.hpp"
#include <smg/config/gateway_config.hpp>

namespace smg::cli {

struct ParseOutcome {
  std::optional<int> exit_code;  ///< set: all is said and done, the process ends with it
  config::GatewayConfig config;  ///< valid if there is no exit code
  bool echo_backend = false;     ///< `smg serve --backend echo`
};

/// The flags of `smg launch`, or those of `smg serve`, in the order of help.
[[nodiscard]] std::vector<FlagFacts> flags_of_launch();
[[nodiscard]] std::vector<FlagFacts> flags_of_serve();

/// Reads `smg launch …` and `smg serve …`: the command line wins over the environment (SMG_<FLAG>),
/// which wins over the file of --config. Help, version and the
/// documents of `smg print` go to `out`, complaints to `err`.
ParseOutcome parse_command_line(int argc, const char* const* argv, std::ostream& out,
                                std::ostream& err);

}  // namespace smg::cli
