#include "relay/response_relay.hpp"

#include "relay/merged_relay.hpp"
#include "relay/resliced_relay.hpp"
#include <smg/relay/header_rules.hpp>

namespace smg::relay {
namespace {

/// One chunk of the client's queue is at most one read.
constexpr std::size_t kChunkBytes = 64 * 1024;
/// Pieces in which a whole response is handed over, so that little of it is ever copied.
constexpr std::size_t kWholePieceBytes = 256 * 1024;
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

void announce_head(RequestContext& request, int status) {
  request.status = status;
  if (request.head_goes_out) request.head_goes_out(status);
}

/// Fields that speak of the worker's very bytes, and are wrong for a changed body.
void drop_body_digests(http::Fields& fields) {
  std::erase_if(fields, [](const http::Field& field) {
    for (const std::string_view name : {"etag", "digest", "content-md5", "accept-ranges"}) {
      if (text::equals_ignoring_case(field.name, name)) return true;
    }
    return false;
  });
}

net::Task<Result<>> relay_verbatim(const Services& services, Attempt& attempt) {
  auto& client = attempt.request().client;
  auto& exchange = attempt.exchange();
  bool first = true;
  while (!exchange.body_ended()) {
    const auto scratch = client.thread().scratch().first(kChunkBytes);
    auto got = co_await exchange.read_body(scratch);
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
  announce_head(request, head.status);
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
  const bool drained = co_await client.wait_until_drained();
  if (!drained) co_return fail(ErrorCode::ClientGone);
  co_return Result<>();
}

net::Task<Result<BodyBuffer>> read_whole(const Services& services, Attempt& attempt,
                                         const http::ResponseHead& head) {
  const auto limit = services.config.limits.max_payload_size;
  auto& exchange = attempt.exchange();
  const auto too_large = [limit] {
    return fail(ErrorCode::UpstreamResponseTooLarge,
                "Response from worker exceeded " + std::to_string(limit) + " bytes");
  };
  BodyBuffer body;
  if (head.length.kind == http::BodyLength::Kind::Known) {
    if (head.length.bytes > limit) co_return too_large();
    if (head.length.bytes <= kWholePieceBytes) {
      body.reserve_behind(static_cast<std::size_t>(head.length.bytes));
    }
  }
  while (!exchange.body_ended()) {
    const auto room = body.prepare(body.capacity() > body.size() ? 1 : 16 * 1024);
    auto got = co_await exchange.read_body(room);
    if (!got) {
      GatewayError error = got.error();
      if (error.code == ErrorCode::UpstreamTimeout) {
        error = {ErrorCode::UpstreamBodyFailed, "The worker's response did not end in time", 504};
      }
      co_return error;
    }
    body.commit(*got);
    if (body.size() > limit) co_return too_large();
  }
  co_return body;
}

net::Task<Result<>> send_whole(Attempt& attempt, const http::ResponseHead& head, BodyBuffer body,
                               Content content) {
  RequestContext& request = attempt.request();
  auto& client = request.client;
  http::ClientResponse response{
      head.status,
      client_fields(head, {attempt.worker().url(), request.request_id.text, request.cors})};
  if (content == Content::Changed) drop_body_digests(response.fields);
  announce_head(request, head.status);
  const bool bodiless = head.length.kind == http::BodyLength::Kind::None;
  client.write_head(response,
                    bodiless ? http::BodyLength::none() : http::BodyLength::known(body.size()));
  std::string_view left = body.view();
  for (bool last = false; !last;) {
    const auto piece = left.substr(0, kWholePieceBytes);
    left.remove_prefix(piece.size());
    last = left.empty();
    if (last) attempt.about_to_complete();
    client.write_body(piece, last);
    const bool drained = co_await client.wait_until_drained();
    if (!drained) co_return fail(ErrorCode::ClientGone);
  }
  co_return Result<>();
}

net::Task<> discard_short(const Services& services, Attempt& attempt,
                          const http::ResponseHead& head) {
  const bool is_short =
      head.length.kind == http::BodyLength::Kind::Known && head.length.bytes <= kDiscardBytes;
  if (!is_short) co_return;
  attempt.hurry(kDiscardTime);
  auto discarded = co_await read_whole(services, attempt, head);
  static_cast<void>(discarded);
}

}  // namespace smg::relay
