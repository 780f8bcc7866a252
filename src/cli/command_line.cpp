#include "cli/command_line.hpp"

#include <algorithm>
#include <ostream>

#include <CLI/CLI.hpp>

#include "cli/documents.hpp"
#include "cli/help.hpp"
#include "cli/options.hpp"
#include <smg/config/log_directory.hpp>
#include <smg/config/normalise.hpp>
#include <smg/config/validate.hpp>

namespace smg::cli {
namespace {

constexpr int kConfigurationError = 1;
constexpr int kUsageError = 2;
constexpr std::size_t kEchoWorkers = 2;
constexpr const char* kPolicyOfServe = "round_robin";

constexpr std::string_view kUsage =
    "Usage: smg launch [OPTIONS]                the gateway in front of --worker-urls\n"
    "       smg serve --backend echo [OPTIONS]  the gateway in front of built-in echo workers\n"
    "       smg launch --help                   all options\n"
    "       smg print DOCUMENT                  man; completions for bash, zsh, fish; flags, "
    "metrics\n"
    "       smg --version\n";

struct Command {
  bool serve = false;
  std::string config_file;
  std::string backend;
};

void bind_backend(FlagSet& flags, Command& command) {
  const auto set = [&command](const std::string& backend) { command.backend = backend; };
  if (command.serve) {
    flags.choice({"--backend", "KIND", "workers that are started along"}, {"echo"}, "required",
                 set);
  } else {
    flags.choice({"--backend", "KIND", "what the workers run; without effect"},
                 {"sglang", "vllm", "openai", "anthropic", "tokenspeed"}, "sglang", set);
  }
}

void bind_all(FlagSet& flags, Command& command, config::GatewayConfig& config) {
  flags.group("General");
  flags.text({"--config", "FILE",
              "settings in TOML, keys as flags without dashes in front; SMG_<FLAG> in the "
              "environment wins over it, the command line over both"},
             command.config_file);
  bind_backend(flags, command);
  bind_listen(flags, config.listen);
  bind_limits(flags, config.limits, config.admission);
  bind_upstream(flags, config.upstream);
  bind_retry(flags, config.retry);
  bind_circuit_breaker(flags, config.circuit_breaker);
  bind_health(flags, config.health);
  bind_fleet(flags, config.fleet);
  bind_modes(flags, config.modes, config.routing.bucket);
  bind_sessions(flags, config.fleet, config.routing.sticky);
  bind_cache_aware(flags, config.cache_aware);
  bind_policies(flags, config.routing);
  bind_load_monitor(flags, config.load_monitor, config.worker_overload);
  bind_discovery(flags, config.discovery);
  bind_access(flags, config.access);
  bind_observability(flags, config.observability);
  bind_tracing(flags, config.tracing);
  bind_accepted(flags);
  bind_unsupported(flags);
}

/// The problems of the settings, those of their words first.
std::vector<std::string> problems_of(const FlagSet& flags, const Command& command,
                                     config::GatewayConfig& config) {
  auto problems = flags.problems();
  config::normalise(config);
  const auto found = config::validate(config, command.serve ? kEchoWorkers : 0);
  problems.insert(problems.end(), found.begin(), found.end());
  if (const auto& directory = config.observability.log_dir; !directory.empty()) {
    if (const auto why = config::log_directory_problem(directory)) {
      problems.push_back("--log-dir: " + directory + " - Cannot be created: " + *why);
    }
  }
  return problems;
}

void apply_all(FlagSet& flags, const CLI::App& app, const Command& command) {
  flags.apply_given();
  // After the known ones: a flag that has swallowed the next one as its value is the better
  // culprit.
  flags.apply_unknown(app.remaining());
  if (!command.config_file.empty()) flags.apply_file(command.config_file);
  if (command.serve && command.backend.empty()) throw UsageError("--backend: required: echo");
}

ParseOutcome parse_command(Command command, std::vector<std::string> arguments, std::ostream& out,
                           std::ostream& err) {
  ParseOutcome outcome;
  if (command.serve) outcome.config.fleet.policy = kPolicyOfServe;
  const std::string name = command.serve ? "smg serve" : "smg launch";
  CLI::App app("Gateway between clients and a fleet of inference workers", name);
  app.formatter(std::make_shared<HelpFormatter>());
  app.set_version_flag("-V,--version", "smg " SMG_VERSION);
  app.allow_extras();
  FlagSet flags(app);
  bind_all(flags, command, outcome.config);
  const auto usage_error = [&](std::string_view why) {
    err << "Usage: " << name << " [OPTIONS], see " << name << " --help\n"
        << name << ": error: " << why << '\n';
    outcome.exit_code = kUsageError;
    return outcome;
  };
  try {
    std::ranges::reverse(arguments);  // CLI11 takes them from the back.
    app.parse(arguments);
    apply_all(flags, app, command);
  } catch (const CLI::CallForHelp&) {
    out << app.help();
    outcome.exit_code = 0;
    return outcome;
  } catch (const CLI::CallForVersion& version) {
    out << version.what() << '\n';
    outcome.exit_code = 0;
    return outcome;
  } catch (const CLI::ParseError& error) {
    return usage_error(error.what());
  } catch (const UsageError& error) {
    return usage_error(error.what());
  }
  for (const auto& problem : problems_of(flags, command, outcome.config)) {
    err << "Configuration error: " << problem << '\n';
    outcome.exit_code = kConfigurationError;
  }
  outcome.echo_backend = command.serve;
  return outcome;
}

std::vector<FlagFacts> flags_of(bool serve) {
  Command command;
  command.serve = serve;
  config::GatewayConfig config;
  if (serve) config.fleet.policy = kPolicyOfServe;
  CLI::App app;
  FlagSet flags(app);
  bind_all(flags, command, config);
  return flags.facts();
}

/// `smg print DOCUMENT`; the result is the exit code.
int print(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
  if (arguments.size() == 1 && write_document(arguments.front(), out)) return 0;
  err << kUsage << "smg print: error: expected one of";
  for (const auto name : document_names()) err << ' ' << name;
  err << '\n';
  return kUsageError;
}

}  // namespace

std::vector<FlagFacts> flags_of_launch() {
  return flags_of(false);
}

std::vector<FlagFacts> flags_of_serve() {
  return flags_of(true);
}

ParseOutcome parse_command_line(int argc, const char* const* argv, std::ostream& out,
                                std::ostream& err) {
  const std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  const std::string_view first = arguments.empty() ? "" : std::string_view(arguments.front());
  if (first == "launch" || first == "serve") {
    Command command;
    command.serve = first == "serve";
    return parse_command(command, {arguments.begin() + 1, arguments.end()}, out, err);
  }
  ParseOutcome outcome;
  if (first == "print") {
    outcome.exit_code = print({arguments.begin() + 1, arguments.end()}, out, err);
  } else if (first == "--version" || first == "-V") {
    out << "smg " SMG_VERSION "\n";
    outcome.exit_code = 0;
  } else if (first == "--help" || first == "-h") {
    out << kUsage;
    outcome.exit_code = 0;
  } else {
    err << kUsage;
    if (!first.empty()) err << "smg: error: unknown command: " << first << '\n';
    outcome.exit_code = kConfigurationError;
  }
  return outcome;
}

}  // namespace smg::cli
