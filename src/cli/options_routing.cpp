#include <array>
#include <utility>

#include "cli/options.hpp"

namespace smg::cli {
namespace {

using config::AssignmentMode;

constexpr std::array<std::pair<std::string_view, AssignmentMode>, 4> kAssignments{
    {{"random", AssignmentMode::Random},
     {"min_load", AssignmentMode::MinLoad},
     {"min_group", AssignmentMode::MinGroup},
     {"delegate", AssignmentMode::Delegate}}};

AssignmentMode to_assignment(const std::string& word) {
  for (const auto& [name, mode] : kAssignments) {
    if (name == word) return mode;
  }
  return AssignmentMode::Default;
}

}  // namespace

void bind_sessions(FlagSet& flags, config::Fleet& fleet, config::StickySessions& sticky) {
  flags.group("Sticky sessions");
  flags.toggle({"--routing-key-override,--sticky-sessions", "",
                "keep the requests of a session at one worker under any policy; a session is named "
                "by the rid of a body or by a header"},
               fleet.routing_key_override);
  flags.list({"--routing-key-headers", "NAME...",
              "headers that may name the session; the first with a valid value counts"},
             fleet.routing_key_headers);
  flags.choice({"--assignment-mode", "MODE",
                "how a new session, or a new key of manual, gets its worker; delegate is --policy"},
               {"random", "min_load", "min_group", "delegate"}, "random for manual, else delegate",
               [&sticky](const std::string& mode) { sticky.assignment = to_assignment(mode); });
  flags.duration({"--max-idle-secs,--sticky-key-idle-secs", "SECS",
                  "life of an idle session or key; 0: endless"},
                 sticky.max_idle);
}

void bind_policies(FlagSet& flags, config::RoutingTuning& tuning) {
  flags.group("Tuning of prefix_hash");
  auto& prefix = tuning.prefix_hash;
  flags.number({"--prefix-token-count", "N",
                "tokens of a prompt that are hashed, or four times as many characters"},
               prefix.token_count);
  flags.real({"--prefix-hash-load-factor", "X",
              "load, as a multiple of the mean, that moves a prompt on; at least 1"},
             prefix.load_factor);
  flags.number({"--prefix-hash-balance-abs-threshold", "N",
                "load above the mean that must be exceeded as well"},
               prefix.balance_abs_threshold);

  flags.group("Tuning of least_load");
  auto& least = tuning.least_load;
  flags.real({"--least-load-kv-pressure-weight", "SECS", "expected wait for a half full cache"},
             least.kv_pressure_weight);
  flags.real({"--least-load-default-throughput", "X",
              "tokens per second of a worker that does not report any"},
             least.default_throughput);
  flags.real({"--least-load-mean-prefill-tokens", "X", "length of a prompt that is not known"},
             least.mean_prefill_tokens);
  flags.number({"--least-load-max-waiting-requests", "N",
                "waiting requests that rule a worker out; 0: any number will do"},
               least.max_waiting_requests);
}

}  // namespace smg::cli
