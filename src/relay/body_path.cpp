#include <smg/relay/body_path.hpp>

namespace smg::relay {
namespace {

constexpr BodyPathDecision buffer(BodyPathReason reason) {
  return {BodyPath::Buffered, reason};
}
constexpr BodyPathDecision stream(BodyPathReason reason) {
  return {BodyPath::Streamed, reason};
}

}  // namespace

BodyPathDecision decide_body_path(const RouterState& router, const BodyFacts& request) noexcept {
  using enum BodyPathReason;
  if (router.mode == config::RouterMode::MultiModel) return buffer(ModelSelection);
  if (router.mode == config::RouterMode::PrefillDecode) return buffer(PrefillDecode);
  // Something must read or write the body.
  if (router.routing_key_override) return buffer(RoutingKeyOverride);
  if (router.policy_reads_prompt && !request.has_tokens_hint) return buffer(PolicyNeedsText);
  if (router.model_ambiguous) return buffer(ModelAmbiguous);
  if (router.worker_mutates_body) return buffer(WorkerMutatesBody);
  if (router.wasm_request_hook) return buffer(WasmRequestHook);
  if (!request.content_length) return buffer(NoContentLength);
  // The only reason left to buffer is to be able to send it again.
  if (!router.retries_enabled) return stream(PureForward);
  return *request.content_length <= router.max_buffered_bytes ? buffer(Retryable)
                                                              : stream(RetryForfeited);
}

std::optional<BodyPathReason> late_fallback(const RouterState& router,
                                            bool worker_selectable) noexcept {
  if (router.worker_mutates_body) return BodyPathReason::WorkerMutatesBody;
  if (router.model_ambiguous) return BodyPathReason::ModelAmbiguous;
  if (!worker_selectable) return BodyPathReason::NoAvailableWorker;
  return std::nullopt;
}

}  // namespace smg::relay
