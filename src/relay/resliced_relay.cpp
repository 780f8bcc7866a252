#include "relay/resliced_relay.hpp"

#include "relay/response_relay.hpp"
#include <smg/relay/minimax_reslicer.hpp>

namespace smg::relay {
namespace {

constexpr std::size_t kReadBytes = 16 * 1024;

/// Sends all that is due, as the client's queue has room for it. False: the client has left.
net::Task<bool> send_due(MinimaxReslicer& reslicer, http::ClientExchange& client) {
  std::string out;
  for (bool more = true; more;) {
    out.clear();
    more = reslicer.produce(out);
    client.write_body(out, false);
    if (!client.queue_full()) continue;
    const bool room = co_await client.wait_for_room();
    if (!room) co_return false;
  }
  co_return true;
}

}  // namespace

bool is_resliced(const RequestContext& request, const http::ResponseHead& head) noexcept {
  if (!request.minimax || !request.streaming || request.route != InferenceRoute::ChatCompletions) {
    return false;
  }
  const auto* coding = head.find("content-encoding");
  if (coding != nullptr && !text::equals_ignoring_case(coding->value, "identity")) return false;
  if (http::is_bodiless(head.status)) return false;
  if (head.find("content-type") == nullptr) return head.status >= 200 && head.status < 300;
  return is_event_stream(head);
}

net::Task<Result<>> relay_resliced(const Services& services, Attempt& attempt) {
  auto& client = attempt.request().client;
  auto& exchange = attempt.exchange();
  MinimaxReslicer reslicer;
  // The worker pauses: what is pending leaves, from below the event loop. It is less than one
  // slice.
  net::Deadline idle(client.thread().deadlines(), [&] {
    if (!reslicer.has_pending()) return;
    if (client.queue_full()) return idle.arm(MinimaxReslicer::kIdleTime);
    reslicer.idle();
    std::string out;
    while (reslicer.produce(out)) {
    }
    client.write_body(out, false);
  });

  Result<> outcome;
  bool first = true;
  while (!exchange.body_ended()) {
    const auto scratch = client.thread().scratch().first(kReadBytes);
    if (reslicer.has_pending()) idle.arm(MinimaxReslicer::kIdleTime);
    auto got = co_await exchange.read_body(scratch);
    idle.disarm();
    if (!got) {
      outcome = got.error();
      break;
    }
    if (std::exchange(first, false) && *got > 0) observe_first_byte(services, attempt.request());
    reslicer.feed({scratch.data(), *got});
    const bool sent = co_await send_due(reslicer, client);
    if (!sent) co_return fail(ErrorCode::ClientGone);
  }
  // Buffered text is delivered before an error ends the body (the page).
  reslicer.finish();
  const bool sent = co_await send_due(reslicer, client);
  if (!sent) co_return fail(ErrorCode::ClientGone);
  co_return outcome;
}

}  // namespace smg::relay
