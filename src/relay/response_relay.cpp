#include "relay/response_relay.hpp"

#include "relay/merged_relay.hpp"
#include "relay/resliced_relay.hpp"
#include "relay/whole_response.hpp"
#include <smg/relay/header_rules.hpp>

namespace smg::relay {
namespace {

/// One chunk of the client's queue is at most one read.
constexpr std::size_t kChunkBytes = 64 * 1024;
/// The answer to an attempt that will be repeated is read, to keep its connection, if it is this
/// short.
constexpr std::uint64_t kDiscardBytes = 64 * 1024;
constexpr std::chrono::milliseconds kDiscardTime{50};

/// How a relayed body is framed for the client: as the worker framed it, by length or in chunks.
http::BodyLength client_length(const http::ResponseHead& head) noexcept {
  switch (head.length.kind) {
    case http::BodyLength::Kind::None: return http::BodyLength::none();
    case http::BodyLength::Kind::Known: return head.length;
    case http::BodyLength::Kind::Chunked:
    case http::BodyLength::Kind::UntilClose: break;
  }
  return http::BodyLength::chunked();
}

net::Task<Result<>> relay_verbatim(const Services& services, Attempt& attempt) {
  auto& client = attempt.request().client;
  auto& exchange = attempt.exchange();
  bool first = true;
  while (!exchange.body_ended()) {
    const auto scratch = client.thread().scratch().first(kChunkBytes);
    const auto come = exchange.try_read_body(scratch);
    if (!come) {
      co_await exchange.arrival();
      continue;
    }
    const auto& got = *come;
    if (!got) co_return got.error();
    if (std::exchange(first, false) && *got > 0) observe_first_byte(services, attempt.request());
    if (exchange.body_ended()) attempt.about_to_complete();
    client.write_body({scratch.data(), *got}, exchange.body_ended());
    if (!client.queue_full()) continue;
    const bool room = co_await client.wait_for_room();
    if (!room) co_return fail(ErrorCode::ClientGone);
  }
  co_return Result<>();
}

}  // namespace

void observe_first_byte(const Services& services, const RequestContext& request) {
  services.metrics.observe_ttft(request.labels(),
                                std::chrono::steady_clock::now() - request.started);
}

bool is_event_stream(const http::ResponseHead& head) noexcept {
  const auto* type = head.find("content-type");
  return type != nullptr && http::has_media_type(type->value, "text/event-stream");
}

net::Task<Result<>> relay_stream(const Services& services, Attempt& attempt,
                                 const http::ResponseHead& head,
                                 std::string_view default_content_type,
                                 pd::LogprobStream* merging) {
  RequestContext& request = attempt.request();
  auto& client = request.client;
  http::ClientResponse response{
      head.status,
      client_fields(head, {attempt.worker().url(), request.request_id.text, request.cors})};
  const bool success = head.status >= 200 && head.status < 300;
  if (!default_content_type.empty() && success && head.find("content-type") == nullptr) {
    response.fields.push_back({"content-type", default_content_type});
  }
  const bool resliced = is_resliced(request, head);
  const bool changed = resliced || merging != nullptr;
  if (changed) drop_body_digests(response.fields);
  request.announce_head(head.status);
  attempt.count_response(head.status);
  client.write_head(response, changed ? http::BodyLength::chunked() : client_length(head));
  if (!attempt.exchange().body_ready()) client.flush();

  Result<> relayed;
  if (resliced) {
    relayed = co_await relay_resliced(services, attempt);
  } else if (merging != nullptr) {
    relayed = co_await relay_merged(services, attempt, *merging);
  } else {
    relayed = co_await relay_verbatim(services, attempt);
  }
  if (!relayed) {
    attempt.settle_broken(relayed.error());
    co_return relayed;
  }
  attempt.settle_completed(head.status);
  attempt.about_to_complete();
  client.write_body({}, true);
  // The worker's part is over, but its load counts until the client has everything.
  bool drained = client.drained();
  if (!drained) drained = co_await client.wait_until_drained();
  if (!drained) co_return fail(ErrorCode::ClientGone);
  co_return Result<>();
}

net::Task<> discard_short(const Services& services, Attempt& attempt,
                          const http::ResponseHead& head) {
  const bool is_short =
      head.length.kind == http::BodyLength::Kind::Known && head.length.bytes <= kDiscardBytes;
  if (!is_short) co_return;
  attempt.hurry(kDiscardTime);
  WholeResponse discarded(services, attempt, head);
  const auto read = co_await discarded.read();
  static_cast<void>(read);
}

}  // namespace smg::relay
