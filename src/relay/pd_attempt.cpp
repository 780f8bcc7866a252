#include "relay/pd_attempt.hpp"

#include "relay/pd_errors.hpp"
#include "relay/response_relay.hpp"
#include "relay/whole_response.hpp"
#include <smg/relay/header_rules.hpp>
#include <smg/relay/retry_rule.hpp>

namespace smg::relay::pd {
namespace {

constexpr std::size_t kFailureBytes = 64 * 1024;
/// For all of a failed answer, which has nothing left to compute.
constexpr std::chrono::seconds kFailureTime{2};

std::optional<std::uint32_t> rank_of(const routing::Selection& selection) {
  const auto& rank = selection.worker().facts().rank;
  return rank ? std::optional(rank->rank) : std::nullopt;
}

std::string retry_after_of(const http::ResponseHead& head) {
  const http::Field* const field = head.find("retry-after");
  return field != nullptr ? std::string(field->value) : std::string();
}

BodyBuffer joined(const EditedBody& body) {
  BodyBuffer whole;
  for (const auto piece : body.pieces()) whole.append(piece);
  return whole;
}

/// Tells a client that waits for a stream why there is none.
void write_error_event(PdAttempt& attempt, Attempt& decode, const FailedAnswer& answer,
                       const GatewayError& error) {
  RequestContext& context = attempt.context();
  const std::string event = error_event(answer);
  const std::string retry_after = std::to_string(error.retry_after_seconds);
  http::ClientResponse response{error.status(), {{"content-type", "text/event-stream"}}};
  if (error.retry_after_seconds > 0) response.fields.push_back({"retry-after", retry_after});
  response.fields.push_back({"x-smg-error-code", row(error.code).wire_code});
  response.fields.push_back({"x-smg-routed-worker-id", decode.worker().url()});
  append_gateway_fields(response.fields, context.request_id.text, context.cors);
  context.announce_head(error.status());
  if (context.about_to_complete) context.about_to_complete();
  context.client.write_head(response, http::BodyLength::known(event.size()));
  context.client.write_body(event, true);
}

/// Decode's answer is no success.
net::Task<Result<Step>> refuse(PdAttempt& attempt, Attempt& decode,
                               const http::ResponseHead& head) {
  attempt.blame(decode.worker());
  decode.settle(head.status);
  const std::string retry_after = retry_after_of(head);
  const std::string said = co_await read_failure(decode);
  const FailedAnswer answer{head.status, said, retry_after};
  const GatewayError error = decode_error(answer);
  const bool final = attempt.last || !is_retryable(error);
  if (!final || !attempt.context().streaming || attempt.context().client.gone()) co_return error;
  if (is_retryable(error)) count_exhausted(attempt.services(), attempt.context(), kTypes);
  write_error_event(attempt, decode, answer, error);
  co_return Step::Answered;
}

net::Task<Result<>> answer_whole(PdAttempt& attempt, Attempt& decode,
                                 const http::ResponseHead& head, const PromptLogprobs& prefill,
                                 std::string_view text) {
  WholeResponse response(attempt.services(), decode, head);
  auto done = co_await response.read();
  if (!done) co_return done;
  decode.settle(head.status);
  auto content = Content::AsReceived;
  if (!prefill.empty()) {
    auto& body = response.body();
    const auto own = PromptLogprobs::of(body);
    auto splices = own.merge_with(prefill, text);
    if (!splices.empty()) {
      body = joined(EditedBody(body.view(), std::move(splices)));
      content = Content::Changed;
    }
  }
  done = co_await response.send(content);
  co_return done;
}

}  // namespace

PdRanks PdAttempt::ranks() const {
  return {rank_of(*pair.prefill), rank_of(*pair.decode)};
}

net::Task<std::string> read_failure(Attempt& attempt) {
  attempt.hurry(kFailureTime);
  std::string said;
  auto& exchange = attempt.exchange();
  while (!exchange.body_ended() && said.size() < kFailureBytes) {
    const auto scratch = attempt.request().client.thread().scratch();
    auto got = co_await exchange.read_body(scratch);
    if (!got) break;
    said.append(scratch.data(), std::min(*got, kFailureBytes - said.size()));
  }
  co_return said;
}

net::Task<GatewayError> fail_prefill(PdAttempt& attempt, Attempt& prefill,
                                     const http::ResponseHead& head, bool in_turn) {
  attempt.blame(prefill.worker());
  prefill.settle(head.status);
  const std::string retry_after = retry_after_of(head);
  const std::string said = co_await read_failure(prefill);
  const FailedAnswer answer{head.status, said, retry_after};
  co_return in_turn ? prefill_upstream_error(answer) : prefill_error(answer);
}

GatewayError fail_transport(PdAttempt& attempt, Attempt& leg, routing::WorkerRole role,
                            const GatewayError& error) {
  if (row(error.code).fault == Fault::Worker) attempt.blame(leg.worker());
  leg.settle(error);
  return transport_error(role, error);
}

net::Task<Result<Step>> answer_with(PdAttempt& attempt, Attempt& decode,
                                    const http::ResponseHead& head, const PromptLogprobs& prefill,
                                    std::string_view text) {
  if (!is_success(head.status)) {
    auto refused = co_await refuse(attempt, decode, head);
    co_return refused;
  }
  RequestContext& context = attempt.context();
  attempt.services().metrics.observe_pd_ttft(context.labels().model,
                                             decode.worker().facts().runtime_type,
                                             std::chrono::steady_clock::now() - context.started);
  Result<> answered;
  if (context.streaming) {
    LogprobStream merging(prefill, text);
    const bool merges = !prefill.empty() && is_event_stream(head);
    answered = co_await relay_stream(attempt.services(), decode, head, "text/event-stream",
                                     merges ? &merging : nullptr);
  } else {
    answered = co_await answer_whole(attempt, decode, head, prefill, text);
  }
  if (answered) co_return Step::Answered;
  if (context.client.head_written()) co_return answered.error();
  co_return fail_transport(attempt, decode, routing::WorkerRole::Decode, answered.error());
}

}  // namespace smg::relay::pd
