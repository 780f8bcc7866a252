#include "cli/support_status.hpp"

#include <algorithm>
#include <array>

namespace smg::cli {
namespace {

// The one place that says what this version does not do. A flag that is bound to a setting as well
// becomes supported when its row goes; the others also need a binding in one of options_*.cpp.
constexpr auto kRefusedFlags = std::to_array<RefusedFlag>({
    // Other modes.
    {"--dp-minimum-tokens-scheduler", "", "", "choose the rank with the fewest tokens"},
    {"--enable-rl", "", "", "control of training rollouts"},
    {"--rl-control-timeout-secs", "SECS", "600", "patience with a rollout command"},
    {"--rl-fanout-concurrency", "N", "32", "workers commanded at once"},
    {"--epd-disaggregation", "", "", "encode, prefill and decode on different workers"},
    {"--encode", "URL...", "none", "encode workers"},
    {"--encode-policy", "POLICY", "that of --policy", "policy of encode workers"},
    {"--pd-admission-wait-secs", "SECS", "30", "patience with a full pair of workers"},
    {"--encode-selector", "KEY=VALUE...", "none", "labels of encode pods"},
    {"--router-selector", "KEY=VALUE...", "none", "labels of gateway pods"},
    {"--enable-wasm", "", "", "run plugins"},
    {"--storage-hook-wasm-path", "FILE", "none", "plugin around stored responses"},
    {"--storage-context-headers", "NAME...", "none", "headers handed to that plugin"},
    {"--mcp-config-path", "FILE", "none", "tool servers"},
    {"--zmq-engine-count", "N", "none", "engines behind one ZeroMQ worker"},
    {"--schema-config", "FILE", "none", "tables of stored responses"},
    {"--log-mm-timing", "", "", "log the timing of multimodal requests"},
    {"--enable-mesh", "", "", "share state between gateways"},
    // Gone for good.
    {.names = "--stream-request-bodies-over",
     .help = "removed; --max-buffered-request-bytes decides what is streamed",
     .refused = Refused::Removed},
});

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kRefusedValues{{
    {"--backend", "openai"},
    {"--backend", "anthropic"},
    {"--backend", "tokenspeed"},
    {"--history-backend", "oracle"},
    {"--history-backend", "postgres"},
    {"--history-backend", "redis"},
}};

constexpr std::array<std::string_view, 8> kRefusedFamilies{
    "--mesh-",     "--mm-",   "--multimodal-", "--oracle-",
    "--postgres-", "--rdma-", "--redis-",      "--tokenizer-cache-"};

}  // namespace

std::span<const RefusedFlag> refused_flags() {
  return kRefusedFlags;
}

const RefusedFlag* find_refused(std::string_view name) {
  const auto row = std::ranges::find_if(kRefusedFlags, [&](const RefusedFlag& flag) {
    return flag.names.substr(0, flag.names.find(',')) == name;
  });
  return row == kRefusedFlags.end() ? nullptr : &*row;
}

bool is_refused_value(std::string_view flag, std::string_view value) {
  return std::ranges::find(kRefusedValues, std::pair{flag, value}) != kRefusedValues.end();
}

bool is_of_refused_family(std::string_view name) {
  return std::ranges::any_of(kRefusedFamilies,
                             [&](std::string_view family) { return name.starts_with(family); });
}

std::span<const std::string_view> refused_families() {
  return kRefusedFamilies;
}

}  // namespace smg::cli
