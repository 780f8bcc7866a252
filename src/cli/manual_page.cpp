#include <ostream>

#include "cli/command_line.hpp"
#include "cli/documents.hpp"

namespace smg::cli {
namespace {

/// Text between macros: a hyphen that may be copied, and no line that looks like a macro.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  const bool like_macro = out.starts_with('.') || out.starts_with('\'');
  return like_macro ? "\\&" + out : out;
}

constexpr std::string_view kBeforeOptions = R"(.SH NAME
smg \- gateway to a fleet of LLM inference workers
.SH SYNOPSIS
.B smg launch
.RI [ OPTION ...]
.br
.B smg serve \-\-backend echo
.RI [ OPTION ...]
.br
.B smg print
.IR man | bash | zsh | fish | flags | metrics
.br
.B smg \-\-version
.SH DESCRIPTION
.B smg launch
runs the gateway in the foreground, in front of the workers of
.B \-\-worker\-urls
and of those that are added by its API, until it is told to stop.
Clients connect to port 30000, Prometheus scrapes port 29000.
Nothing listens before all settings are valid; all problems are reported at once.
.PP
.B smg serve \-\-backend echo
does the same in front of two built\-in workers that send back what they are sent: for trying out.
.PP
.B smg print
prints this page, the completions of a shell, or the reference of flags or metrics.
.SH OPTIONS
Lists take several words after one flag.
The text in brackets is the default.
)";

constexpr std::string_view kAfterOptions = R"(.SH ENVIRONMENT
Each option is also a variable:
.B SMG_
and its name in capitals with underscores, such as
.BR SMG_MAX_PAYLOAD_SIZE ;
elements of lists are separated by blanks or commas.
The command line wins over the environment, the environment over the file of
.BR \-\-config .
Keys are better given there than on the command line, which every user of the machine can see.
.SH FILES
.TP
.I /etc/smg/smg.toml
settings of the service; its keys are options without the dashes in front
.TP
.I /etc/smg/smg.env
variables of the service, if it is there
.SH SIGNALS
SIGTERM and SIGINT stop the gateway within
.BR \-\-shutdown\-grace\-period\-secs :
it reports itself as not ready, stops to accept, and lets running requests end.
A second SIGINT ends it at once.
SIGHUP reads the TLS certificate and key again.
.SH EXIT STATUS
.TP
0
stopped by a signal as asked
.TP
1
a configuration that cannot work: a value out of range, an unreadable file, a busy port
.TP
2
a command line that cannot be understood
.SH SEE ALSO
.BR systemctl (1)
)";

void write_option(const FlagFacts& flag, std::ostream& out) {
  out << ".TP\n";
  for (const auto* names : {&flag.names, &flag.negatives}) {
    for (const auto& name : *names) {
      out << (&name == &flag.names.front() ? "\\fB" : ", \\fB") << roff(name) << "\\fR";
    }
  }
  if (!flag.value_name.empty()) out << " \\fI" << roff(flag.value_name) << "\\fR";
  out << '\n' << roff(flag.help);
  if (!flag.default_text.empty()) out << " [" << roff(flag.default_text) << ']';
  out << '\n';
}

}  // namespace

void write_manual_page(std::ostream& out) {
  out << ".\\\" Made by `smg print man`.\n"
         ".TH SMG 1 \"\" \"smg " SMG_VERSION "\" \"User Commands\"\n"
      << kBeforeOptions;
  std::string heading;
  for (const auto& flag : flags_of_launch()) {
    if (flag.heading != heading) {
      heading = flag.heading;
      out << ".SS " << roff(heading) << '\n';
    }
    write_option(flag, out);
  }
  out << kAfterOptions;
}

}  // namespace smg::cli
