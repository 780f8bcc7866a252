#include "relay/attempt_loop.hpp"
#include "relay/buffered_relay.hpp"
#include "relay/routing_inputs.hpp"
#include "relay/streaming_relay.hpp"
#include <smg/relay/inference_relay.hpp>
#include <smg/routing/hints.hpp>
#include <smg/routing/selection.hpp>

namespace smg::relay {
namespace {

/// The pool that a request is routed in whose model nobody has read: the only model's, or all
/// workers.
const routing::ModelPool* pool_without_model(const routing::WorkerTable& table) noexcept {
  if (table.model_count() == 1) {
    for (const auto& [model, pool] : table.pools()) {
      if (!model.empty()) return &pool;
    }
  }
  return table.find("");
}

/// nullptr: no worker can be selected now. Errors: of the client's making.
Result<std::unique_ptr<routing::Selection>> select_by_head(const routing::WorkerTable& table,
                                                           const routing::ModelPool* pool,
                                                           const http::RequestHead& head,
                                                           const config::Fleet& fleet) {
  if (pool == nullptr) return std::unique_ptr<routing::Selection>();
  const RoutingInputs inputs(head, fleet, *pool);
  auto selected =
      routing::select_worker(table, *pool, inputs.request(), {}, std::chrono::steady_clock::now());
  if (selected || row(selected.error().code).fault == Fault::Client) return selected;
  return std::unique_ptr<routing::Selection>();
}

net::Task<Result<>> failed(GatewayError error) {
  co_return error;
}

}  // namespace

RouterState InferenceRelay::router_state(const routing::WorkerTable& table) const noexcept {
  return {.mode = config_.modes.router(),
          .routing_key_override = config_.fleet.routing_key_override,
          .policy_reads_prompt = table.policy_reads_prompt(),
          .model_ambiguous = table.model_count() > 1,
          .worker_mutates_body = table.worker_mutates_body(),
          .wasm_request_hook = false,
          .retries_enabled = config_.retry.enabled(),
          .max_buffered_bytes = config_.limits.max_buffered_request_bytes};
}

// Not a coroutine: whichever path is taken has a frame of its own.
net::Task<Result<>> InferenceRelay::run(RequestContext& request) {
  const Services services{config_, metrics_};
  const routing::WorkerTablePtr table = fleet_.on(request.client.thread());
  if (!facts(request.route).may_stream_body) return run_buffered(services, request, fleet_);
  const auto& head = request.client.head();
  const auto* hint = head.find("x-smg-routing-tokens");
  const RouterState state = router_state(*table);
  BodyPathDecision decision = decide_body_path(
      state, {hint != nullptr && routing::is_valid_tokens_hint(hint->value), head.content_length});

  std::unique_ptr<routing::Selection> selection;
  if (decision.path == BodyPath::Streamed) {
    const auto* pool = pool_without_model(*table);
    auto selected = select_by_head(*table, pool, head, config_.fleet);
    if (!selected) {
      metrics_.count_body_path(name_of(decision.path), name_of(decision.reason));
      request.count(metrics_);
      count_unselected(services, selected.error());
      return failed(selected.error());
    }
    selection = std::move(*selected);
    if (const auto reason = late_fallback(state, selection != nullptr)) {
      decision = {BodyPath::Buffered, *reason};
      selection.reset();
    } else {
      metrics_.count_worker_selection("regular", "unknown", pool->policy->name());
    }
  }
  request.path = decision.path;
  metrics_.count_body_path(name_of(decision.path), name_of(decision.reason));
  if (selection) {
    request.count(metrics_);
    return run_streamed(services, request, std::move(selection));
  }
  return run_buffered(services, request, fleet_);
}

}  // namespace smg::relay
