#pragma once

#include "relay/attempt_loop.hpp"
#include "relay/buffered_request.hpp"
#include "relay/buffered_send.hpp"
#include "relay/pd_body.hpp"
#include "relay/prompt_logprobs.hpp"
#include <smg/routing/pair_selection.hpp>

/// What the two ways of asking a pair have in common.
namespace smg::relay::pd {

inline constexpr std::array<std::string_view, 2> kTypes{name_of(routing::WorkerRole::Prefill),
                                                        name_of(routing::WorkerRole::Decode)};

/// One attempt with a pair.
struct PdAttempt {
  BufferedRequest& request;
  const PdBody& body;
  routing::WorkerPair pair;
  bool last = false;  ///< no other attempt will follow
  /// The worker that failed, for the next attempt to avoid; null: none has.
  routing::Worker* at_fault = nullptr;

  [[nodiscard]] RequestContext& context() const noexcept { return request.context; }
  [[nodiscard]] const Services& services() const noexcept { return request.services; }
  [[nodiscard]] PdSource source() const noexcept {
    return {request.context.route, request.body.view(), request.fields, body, request.model};
  }
  [[nodiscard]] PdRanks ranks() const;

  /// `worker` failed the request, and the client hears its name.
  void blame(routing::Worker& worker) {
    at_fault = &worker;
    context().worker_url = worker.url();
  }
};

[[nodiscard]] constexpr bool is_success(int status) noexcept {
  return status >= 200 && status < 300;
}

/// Asks SGLang's two workers, or those of another engine, side by side.
[[nodiscard]] net::Task<Result<Step>> attempt_side_by_side(PdAttempt& attempt);

/// Asks vLLM's two workers one after the other.
[[nodiscard]] net::Task<Result<Step>> attempt_in_turn(PdAttempt& attempt);

/// An answer that is no success, as far as it comes soon: what it says, up to 64 KiB.
[[nodiscard]] net::Task<std::string> read_failure(Attempt& attempt);

/// A leg's answer that is no success: charges the worker and returns the error.
[[nodiscard]] net::Task<GatewayError> fail_prefill(PdAttempt& attempt, Attempt& prefill,
                                                   const http::ResponseHead& head, bool in_turn);

/// An exchange of a leg that ended in `error`: charges the worker, if it is its fault.
[[nodiscard]] GatewayError fail_transport(PdAttempt& attempt, Attempt& leg,
                                          routing::WorkerRole role, const GatewayError& error);

/// Brings decode's answer to the client. `prefill`: logprobs of the prompt to be merged into it,
/// out of `text`; empty: none.
[[nodiscard]] net::Task<Result<Step>> answer_with(PdAttempt& attempt, Attempt& decode,
                                                  const http::ResponseHead& head,
                                                  const PromptLogprobs& prefill,
                                                  std::string_view text);

}  // namespace smg::relay::pd
