#include "cli/options.hpp"

namespace smg::cli {

void bind_accepted(FlagSet& flags) {
  flags.group("Accepted without effect");
  flags.accepted({"--disable-tokenizer-autoload", "", "no tokenizer is ever loaded"});
  flags.accepted({"--model-path,--model", "PATH", "model files"});
  flags.accepted({"--tokenizer-path", "PATH", "tokenizer files"});
  flags.accepted({"--chat-template", "PATH", "chat template"});
  flags.accepted({"--reasoning-parser", "NAME", "parser of reasoning"});
  flags.accepted({"--tool-call-parser", "NAME", "parser of tool calls"});
  flags.choice({"--history-backend", "KIND", "where responses are stored"},
               {"memory", "none", "oracle", "postgres", "redis"}, "memory",
               [](const std::string&) {});
}

void bind_unsupported(FlagSet& flags) {
  flags.group("Known, but not supported yet: refused at the start");
  flags.add_refused();
}

}  // namespace smg::cli
