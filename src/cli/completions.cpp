#include <algorithm>
#include <ostream>
#include <vector>

#include "cli/command_line.hpp"
#include "cli/documents.hpp"

/// Completions of shells: commands, flags, and their values where these are files, directories or
/// one of few.
namespace smg::cli {
namespace {

/// The flags that can be used, by the commands that offer the same values for them.
struct FlagsByCommand {
  std::vector<FlagFacts> both;
  std::vector<FlagFacts> launch;
  std::vector<FlagFacts> serve;
};

FlagsByCommand flags_by_command() {
  FlagsByCommand flags;
  const auto serve = flags_of_serve();
  for (auto& flag : flags_of_launch()) {
    if (flag.is_refused) continue;
    const auto other = std::ranges::find(serve, flag.names, &FlagFacts::names);
    if (other == serve.end() || other->choices != flag.choices) {
      flags.launch.push_back(std::move(flag));
      if (other != serve.end()) flags.serve.push_back(*other);
    } else {
      flags.both.push_back(std::move(flag));
    }
  }
  return flags;
}

std::vector<std::string> all_names(const FlagFacts& flag) {
  auto names = flag.names;
  names.insert(names.end(), flag.negatives.begin(), flag.negatives.end());
  return names;
}

template <class Words>
std::string joined(const Words& words, std::string_view separator) {
  std::string text;
  for (const auto& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

bool takes_file(const FlagFacts& flag) {
  return flag.value_name.starts_with("FILE");
}

bool takes_directory(const FlagFacts& flag) {
  return flag.value_name == "DIR";
}

/// In single quotes for sh and zsh.
std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// The arms of `case "$command $flag"` for these flags, under any command or under one.
void write_bash_values(const std::vector<FlagFacts>& flags, std::string_view command,
                       std::ostream& out) {
  for (const auto& flag : flags) {
    std::string values;
    if (takes_file(flag)) values = "-f";
    if (takes_directory(flag)) values = "-d";
    if (!flag.choices.empty()) values = "-W " + quoted(joined(flag.choices, " "));
    if (values.empty()) continue;
    std::vector<std::string> patterns;
    patterns.reserve(flag.names.size());
    for (const auto& name : flag.names)
      patterns.push_back(std::string(command) + "' " + name + "'");
    out << "    " << joined(patterns, " | ") << ") _smg_offer " << values << " ;;\n";
  }
}

std::string zsh_action(const FlagFacts& flag) {
  if (takes_file(flag)) return "_files";
  if (takes_directory(flag)) return "_files -/";
  return flag.choices.empty() ? "" : "(" + joined(flag.choices, " ") + ")";
}

void write_zsh_flags(const std::vector<FlagFacts>& flags, std::ostream& out) {
  for (const auto& flag : flags) {
    std::string rest = "[" + escaped(flag.help, "[]:\\", "\\") + "]";
    if (!flag.value_name.empty()) {
      rest += ":" + escaped(flag.value_name, ":\\", "\\") + ":" + zsh_action(flag);
    }
    for (const auto& name : all_names(flag)) {
      out << "    " << quoted((flag.is_list ? "*" : "") + name + rest) << '\n';
    }
  }
}

void write_fish_flags(const std::vector<FlagFacts>& flags, std::string_view commands,
                      std::ostream& out) {
  for (const auto& flag : flags) {
    std::string value;
    if (!flag.value_name.empty()) value = " -x";
    if (takes_file(flag)) value = " -r -F";
    if (takes_directory(flag)) value = " -x -a '(__fish_complete_directories)'";
    if (!flag.choices.empty()) value = " -x -a '" + joined(flag.choices, " ") + "'";
    for (const auto& name : all_names(flag)) {
      out << "complete -c smg -n '__fish_seen_subcommand_from " << commands << "' -l "
          << name.substr(2) << value << " -d '" << escaped(flag.help, "'\\", "\\") << "'\n";
    }
  }
}

}  // namespace

void write_bash_completion(std::ostream& out) {
  const auto flags = flags_by_command();
  std::vector<std::string> names{"--help", "--version"};
  for (const auto* some : {&flags.both, &flags.launch}) {
    for (const auto& flag : *some) std::ranges::copy(all_names(flag), std::back_inserter(names));
  }
  out << "# Made by `smg print bash`.\n"
         "_smg_offer() { mapfile -t COMPREPLY < <(compgen \"$@\" -- \"$current\"); }\n\n"
         "_smg() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} flag= i\n"
         "  [[ $current == = ]] && current=\n"
         "  COMPREPLY=()\n"
         "  if ((COMP_CWORD == 1)); then\n"
         "    _smg_offer -W 'launch serve print --help --version'\n"
         "    return\n"
         "  fi\n"
         "  if [[ $command == print ]]; then\n"
         "    _smg_offer -W "
      << quoted(joined(document_names(), " "))
      << "\n    return\n"
         "  fi\n"
         "  if [[ $current == -* ]]; then\n"
         "    _smg_offer -W "
      << quoted(joined(names, " "))
      << "\n    return\n"
         "  fi\n"
         "  for ((i = COMP_CWORD - 1; i > 1; i--)); do\n"
         "    if [[ ${COMP_WORDS[i]} == --* ]]; then flag=${COMP_WORDS[i]}; break; fi\n"
         "  done\n"
         "  case \"$command $flag\" in\n";
  write_bash_values(flags.launch, "launch", out);
  write_bash_values(flags.serve, "serve", out);
  write_bash_values(flags.both, "*", out);
  out << "  esac\n}\n\ncomplete -o filenames -F _smg smg\n";
}

void write_zsh_completion(std::ostream& out) {
  const auto flags = flags_by_command();
  out << "#compdef smg\n# Made by `smg print zsh`.\n\n"
         "_smg() {\n"
         "  local context state line\n"
         "  local -a both launch serve\n"
         "  both=(\n"
         "    '(- *)'{-h,--help}'[show all options]'\n"
         "    '(- *)'{-V,--version}'[show the version]'\n";
  write_zsh_flags(flags.both, out);
  out << "  )\n  launch=(\n";
  write_zsh_flags(flags.launch, out);
  out << "  )\n  serve=(\n";
  write_zsh_flags(flags.serve, out);
  out << "  )\n"
         "  _arguments -C '(- *)'{-h,--help}'[show the usage]' "
         "'(- *)'{-V,--version}'[show the version]' \\\n"
         "    '1:command:(launch serve print)' '*::argument:->arguments'\n"
         "  [[ $state == arguments ]] || return\n"
         "  case $words[1] in\n"
         "    launch) _arguments $both $launch ;;\n"
         "    serve) _arguments $both $serve ;;\n"
         "    print) _arguments "
      << quoted("1:document:(" + joined(document_names(), " ") + ")")
      << " ;;\n"
         "  esac\n"
         "}\n\n_smg \"$@\"\n";
}

void write_fish_completion(std::ostream& out) {
  const auto flags = flags_by_command();
  out << "# Made by `smg print fish`.\n"
         "complete -c smg -f\n"
         "complete -c smg -n __fish_use_subcommand -a launch -d 'The gateway before workers'\n"
         "complete -c smg -n __fish_use_subcommand -a serve -d 'The gateway before echo workers'\n"
         "complete -c smg -n __fish_use_subcommand -a print -d 'A document made from the flags'\n"
         "complete -c smg -l help -d 'Show the usage'\n"
         "complete -c smg -l version -d 'Show the version'\n"
         "complete -c smg -n '__fish_seen_subcommand_from print' -a '"
      << joined(document_names(), " ") << "'\n";
  write_fish_flags(flags.both, "launch serve", out);
  write_fish_flags(flags.launch, "launch", out);
  write_fish_flags(flags.serve, "serve", out);
}

}  // namespace smg::cli
