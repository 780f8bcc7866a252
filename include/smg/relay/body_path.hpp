#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <smg/config/router_mode.hpp>

namespace smg::relay {

/// How a request body reaches the worker.
enum class BodyPath : std::uint8_t { Buffered, Streamed };

[[nodiscard]] constexpr std::string_view name_of(BodyPath path) noexcept {
  return path == BodyPath::Streamed ? "streamed" : "buffered";
}

/// Why; the rules of the page's table by their `reason` labels.
enum class BodyPathReason : std::uint8_t {
  RoutingKeyOverride,
  PolicyNeedsText,
  ModelAmbiguous,
  WorkerMutatesBody,
  WasmRequestHook,
  NoContentLength,
  Retryable,
  RetryForfeited,
  PureForward,
  NoAvailableWorker,
  ModelSelection,
  PrefillDecode,
};

[[nodiscard]] constexpr std::string_view name_of(BodyPathReason reason) noexcept {
  constexpr std::string_view kNames[] = {
      "routing_key_override", "policy_needs_text",   "model_ambiguous", "worker_mutates_body",
      "wasm_request_hook",    "no_content_length",   "retryable",       "retry_forfeited",
      "pure_forward",         "no_available_worker", "model_selection", "pd"};
  return kNames[static_cast<std::size_t>(reason)];
}

/// What the decision looks at of the router.
struct RouterState {
  config::RouterMode mode = config::RouterMode::Regular;
  bool routing_key_override = false;     ///< --routing-key-override
  bool policy_reads_prompt = false;      ///< the default or a per-model policy does
  bool model_ambiguous = false;          ///< workers of more than one model are registered
  bool worker_mutates_body = false;      ///< a data-parallel worker is registered
  bool wasm_request_hook = false;        ///< a module is attached at OnRequest
  bool retries_enabled = true;           ///< more than one attempt, and not --disable-retries
  std::uint64_t max_buffered_bytes = 0;  ///< --max-buffered-request-bytes
};

/// What the decision looks at of a request's head.
struct BodyFacts {
  bool has_tokens_hint = false;                 ///< a valid x-smg-routing-tokens
  std::optional<std::uint64_t> content_length;  ///< a valid Content-Length that frames the body
};

struct BodyPathDecision {
  BodyPath path;
  BodyPathReason reason;

  bool operator==(const BodyPathDecision&) const = default;
};

/// The page, "How the Router Decides": the first matching rule wins; modes other than the regular
/// one buffer everything. For a request on an eligible
/// route, before any byte of its body is read.
[[nodiscard]] BodyPathDecision decide_body_path(const RouterState& router,
                                                const BodyFacts& request) noexcept;

/// The late fallbacks, when a request headed for the streamed path meets a fleet that cannot take
/// it so: it is buffered, for the reason given; nothing: it streams.
[[nodiscard]] std::optional<BodyPathReason> late_fallback(const RouterState& router,
                                                          bool worker_selectable) noexcept;

}  // namespace smg::relay
