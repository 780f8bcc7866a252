#include "cli/documents.hpp"

#include <algorithm>
#include <sstream>

#include "command_line_fixture.hpp"

namespace smg::cli {
namespace {

std::string document(std::string_view name) {
  std::ostringstream out;
  EXPECT_TRUE(write_document(name, out)) << name;
  return out.str();
}

struct NameCase {
  std::string document;
  std::string before;  ///< what stands before a flag's name there
  bool has_dashes;
  bool has_refused;
};

TEST(Documents, NameEachFlag) {
  const NameCase cases[] = {
      {"flags", "`", true, true},
      {"bash", "", true, false},
      {"zsh", "'", true, false},
      {"fish", " -l ", false, false},
  };
  for (const auto& c : cases) {
    const std::string text = document(c.document);
    for (const auto& flag : flags_of_launch()) {
      const auto& name = flag.names.front();
      const std::string shown = c.before + (c.has_dashes ? name : name.substr(2));
      const bool found = contains(text, shown + " ") || contains(text, shown + "'") ||
                         contains(text, shown + "`") || contains(text, shown + "[");
      EXPECT_EQ(found || (flag.is_list && contains(text, "'*" + name + "[")),
                c.has_refused || !flag.is_refused)
          << c.document << ' ' << name;
    }
  }
}

TEST(Documents, ManualPageNamesEachFlagWithHyphensToCopy) {
  const std::string text = document("man");
  for (const auto& flag : flags_of_launch()) {
    EXPECT_TRUE(contains(text, ".TP\n\\fB" + escaped(flag.names.front(), "-", "\\") + "\\fR"))
        << flag.names.front();
  }
}

TEST(Documents, MetricsPageHasTypesAndLabels) {
  EXPECT_TRUE(contains(document("metrics"),
                       "| `smg_worker_cb_transitions_total` | counter | `worker`, `from`, `to` |"));
}

TEST(Documents, CompletionOffersChoicesThatAreNotRefused) {
  const std::string text = document("fish");
  EXPECT_TRUE(contains(text, "-l history-backend -x -a 'memory none'"));
  EXPECT_TRUE(contains(text, "__fish_seen_subcommand_from serve' -l backend -x -a 'echo'"));
  EXPECT_TRUE(contains(text, "__fish_seen_subcommand_from launch' -l backend -x -a 'sglang vllm"));
}

TEST(Documents, FlagsThatAreGoneAreInNone) {
  for (const auto name : document_names()) {
    EXPECT_FALSE(contains(document(name), "stream-request-bodies-over")) << name;
  }
}

TEST_F(CommandLine, PrintsDocuments) {
  for (const auto name : document_names()) {
    const auto parsed = parse_program({"print", std::string(name)});
    EXPECT_EQ(parsed.outcome.exit_code, 0) << name;
    EXPECT_EQ(parsed.out, document(name));
    EXPECT_EQ(parsed.err, "");
  }
  const Arguments wrong[] = {{"print"}, {"print", "csh"}, {"print", "man", "bash"}};
  for (const auto& arguments : wrong) {
    const auto parsed = parse_program(arguments);
    EXPECT_EQ(parsed.outcome.exit_code, 2) << joined(arguments);
    EXPECT_EQ(parsed.out, "");
    EXPECT_TRUE(contains(parsed.err, "man bash zsh fish flags metrics")) << parsed.err;
  }
}

}  // namespace
}  // namespace smg::cli
