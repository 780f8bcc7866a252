#include "cli/options.hpp"
#include <smg/base/text.hpp>

namespace smg::cli {
namespace {

bool is_port(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

/// `URL [PORT|none]` words: a port or `none` belongs to the URL before it.
std::vector<config::PrefillUrl> to_prefill_urls(const Words& words) {
  std::vector<config::PrefillUrl> urls;
  bool port_may_follow = false;
  for (const auto& word : words) {
    const bool is_none = text::equals_ignoring_case(word, "none");
    if (!is_none && !is_port(word)) {
      urls.push_back({word, std::nullopt});
      port_may_follow = true;
      continue;
    }
    if (!port_may_follow) throw ValueError(word + " - Must follow the URL of a prefill worker");
    if (!is_none) {
      const auto port = to_unsigned(word, UINT16_MAX);
      if (port == 0) throw ValueError("0 - A bootstrap port must be > 0");
      urls.back().bootstrap_port = static_cast<std::uint16_t>(port);
    }
    port_may_follow = false;
  }
  return urls;
}

}  // namespace

void bind_modes(FlagSet& flags, config::Modes& modes, config::Bucket& bucket) {
  flags.group("Modes");
  flags.toggle(
      {"--enable-igw", "",
       "many models behind one gateway: the model of a request's body chooses its workers"},
      modes.multi_model);
  flags.toggle(
      {"--pd-disaggregation", "", "each request is shared by a prefill and a decode worker"},
      modes.prefill_decode);
  flags.add({{"--prefill", "URL [PORT|none]...",
              "prefill workers registered at the start, each with the port where decode workers "
              "fetch its cache; may be repeated"},
             "none",
             Arity::AtLeastOne,
             [&modes](const Words& words) { modes.prefill = to_prefill_urls(words); }});
  flags.list({"--decode", "URL...", "decode workers registered at the start; may be repeated"},
             modes.decode);
  flags.choice({"--prefill-policy", "POLICY", "how a prefill worker is chosen"},
               {"random", "round_robin", "passthrough", "cache_aware", "power_of_two", "least_load",
                "manual", "consistent_hashing", "prefix_hash", "bucket"},
               "that of --policy",
               [&modes](const std::string& policy) { modes.prefill_policy = policy; });
  flags.choice({"--decode-policy", "POLICY", "how a decode worker is chosen"},
               {"random", "round_robin", "passthrough", "cache_aware", "power_of_two", "least_load",
                "manual", "consistent_hashing", "prefix_hash"},
               "that of --policy",
               [&modes](const std::string& policy) { modes.decode_policy = policy; });
  flags.duration({"--bucket-adjust-interval-secs", "SECS",
                  "how often the policy bucket moves the bounds of its ranges"},
                 bucket.adjust_interval);
}

}  // namespace smg::cli
