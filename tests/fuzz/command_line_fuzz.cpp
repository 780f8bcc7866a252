#include <sstream>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

#include "cli/command_line.hpp"
#include "cli/documents.hpp"
#include "fuzz/fuzz_input.hpp"
#include <smg/config/log_directory.hpp>
#include <smg/config/normalise.hpp>
#include <smg/config/validate.hpp>

namespace smg {

// The documents of `smg print` and the file system are not what is tried here.
std::optional<std::string> config::log_directory_problem(const std::string&) {
  return std::nullopt;
}
std::span<const std::string_view> cli::document_names() {
  return {};
}
bool cli::write_document(std::string_view, std::ostream&) {
  return false;
}

}  // namespace smg

namespace {

using namespace smg;
using namespace smg::fuzz;

constexpr std::string_view kSecret = "k3y-OF-THE-GATEWAY";

struct Said {
  cli::ParseOutcome outcome;
  std::string out;
  std::string err;
};

Said parse(const std::vector<std::string>& arguments) {
  std::vector<const char*> argv{"smg"};
  for (const auto& argument : arguments) argv.push_back(argument.c_str());
  std::ostringstream out;
  std::ostringstream err;
  auto outcome = cli::parse_command_line(static_cast<int>(argv.size()), argv.data(), out, err);
  return {std::move(outcome), out.str(), err.str()};
}

/// A file in memory with a path, for --config.
class File {
 public:
  explicit File(std::string_view text) : descriptor_(memfd_create("settings", MFD_CLOEXEC)) {
    require(descriptor_ >= 0, "there is memory for a file");
    require(write(descriptor_, text.data(), text.size()) == static_cast<ssize_t>(text.size()),
            "a file is written");
  }
  ~File() { close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

/// The words of the command line, one a line. Files other than ours are not read.
std::vector<std::string> arguments_of(std::string_view lines) {
  std::vector<std::string> arguments{"launch", "--api-key", std::string(kSecret)};
  while (!lines.empty()) {
    const auto line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
    if (line.starts_with("--config")) continue;
    arguments.emplace_back(line.substr(0, line.find('\0')));
  }
  return arguments;
}

void check(const Said& said) {
  const auto& code = said.outcome.exit_code;
  require(!code || (*code >= 0 && *code <= 2), "an exit code has a meaning");
  require((code.value_or(0) != 0) == !said.err.empty(),
          "a refusal says why, and nothing else complains");
  require(
      said.err.find(kSecret) == std::string::npos && said.out.find(kSecret) == std::string::npos,
      "a key is not shown");
  if (code) return;
  auto config = said.outcome.config;
  require(config::validate(config, 0).empty(), "settings that are taken are sound");
  config::normalise(config);
  require(config.fleet.worker_urls == said.outcome.config.fleet.worker_urls &&
              config.listen.host == said.outcome.config.listen.host &&
              config.listen.request_id_headers == said.outcome.config.listen.request_id_headers,
          "a value has one spelling");
}

}  // namespace

/// Words of the command line, one a line, then an empty line and a file of settings.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text = Input(bytes, size).rest();
  // Who writes the key in the place of some other word has it repeated to them: -1, not a seed.
  if (text.find(kSecret) != std::string_view::npos) return -1;
  const auto gap = std::min(text.find("\n\n"), text.size());
  auto arguments = arguments_of(text.substr(0, gap));
  const Said plain = parse(arguments);
  check(plain);
  if (gap == text.size()) return 0;
  const File file(text.substr(gap + 2));
  arguments.insert(arguments.begin() + 1, {"--config", file.path()});
  const Said with_file = parse(arguments);
  check(with_file);
  if (plain.outcome.exit_code == 2) {
    require(with_file.outcome.exit_code == 2, "a file does not mend a command line");
  }
  if (!plain.outcome.exit_code && !with_file.outcome.exit_code) {
    require(plain.outcome.config.access.api_key == with_file.outcome.config.access.api_key,
            "the command line wins over a file");
  }
  return 0;
}
