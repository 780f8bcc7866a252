#include "cli/options.hpp"

namespace smg::cli {
namespace {

/// A secret; an empty one would be a key that nobody can present.
std::function<void(const Words&)> into_secret(std::string& target) {
  return [&target](const Words& words) {
    if (words.front().empty()) throw ValueError("Must not be empty");
    target = words.front();
  };
}

}  // namespace

void bind_access(FlagSet& flags, config::Access& access) {
  flags.group("Access");
  flags.add({{"--api-key", "KEY",
              "key that clients must present as a Bearer credential or in x-api-key, and that "
              "workers without a key of their own are shown"},
             "none",
             Arity::One,
             into_secret(access.api_key)});
  flags.list({"--cors-allowed-origins", "ORIGIN...",
              "origins whose pages browsers let call the gateway; none or *: any"},
             access.cors_allowed_origins);
}

}  // namespace smg::cli
