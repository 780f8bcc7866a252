#include "relay/whole_response.hpp"

#include <smg/relay/header_rules.hpp>

namespace smg::relay {
namespace {

/// Pieces in which a whole response is handed over, so that little of it is ever copied.
constexpr std::size_t kPieceBytes = 256 * 1024;

}  // namespace

// ---- from the worker ----------------------------------------------------------------------------

std::optional<Result<>> WholeResponse::try_read() {
  auto& exchange = attempt_.exchange();
  while (!exchange.body_ended()) {
    if (head_.length.kind == http::BodyLength::Kind::Known &&
        head_.length.bytes > services_.config.limits.max_payload_size) {
      return too_large();
    }
    const auto got = exchange.try_read_body(room());
    if (!got) return std::nullopt;
    if (auto accepted = accept(*got); !accepted) return accepted;
  }
  return Result<>();
}

net::Task<Result<>> WholeResponse::read() {
  for (;;) {
    if (auto done = try_read()) co_return *done;
    co_await attempt_.exchange().arrival();
  }
}

std::span<char> WholeResponse::room() {
  if (body_.capacity() == 0 && head_.length.kind == http::BodyLength::Kind::Known &&
      head_.length.bytes <= kPieceBytes) {
    body_.reserve_behind(static_cast<std::size_t>(head_.length.bytes));
  }
  return body_.prepare_some();
}

Result<> WholeResponse::accept(const Result<std::size_t>& got) {
  if (!got) {
    if (got.error().code != ErrorCode::UpstreamTimeout) return got.error();
    return GatewayError{ErrorCode::UpstreamBodyFailed, "The worker's response did not end in time",
                        504};
  }
  body_.commit(*got);
  if (body_.size() > services_.config.limits.max_payload_size) return too_large();
  return Result<>();
}

GatewayError WholeResponse::too_large() const {
  const auto limit = services_.config.limits.max_payload_size;
  return fail(ErrorCode::UpstreamResponseTooLarge,
              "Response from worker exceeded " + std::to_string(limit) + " bytes");
}

// ---- to the client ------------------------------------------------------------------------------

std::optional<Result<>> WholeResponse::try_send(Content content) {
  auto& client = attempt_.request().client;
  if (!begun_) write_head(content);
  while (client.drained()) {
    if (sent_ == body_.size()) return Result<>();
    write_piece();
  }
  if (client.gone()) return fail(ErrorCode::ClientGone);
  return std::nullopt;
}

net::Task<Result<>> WholeResponse::send(Content content) {
  for (;;) {
    if (auto done = try_send(content)) co_return *done;
    const bool drained = co_await attempt_.request().client.wait_until_drained();
    if (!drained) co_return fail(ErrorCode::ClientGone);
  }
}

void WholeResponse::write_head(Content content) {
  begun_ = true;
  RequestContext& request = attempt_.request();
  http::ClientResponse response{
      head_.status,
      client_fields(head_, {attempt_.worker().url(), request.request_id.text, request.cors})};
  if (content == Content::Changed) drop_body_digests(response.fields);
  request.announce_head(head_.status);
  const bool bodiless = head_.length.kind == http::BodyLength::Kind::None;
  request.client.write_head(
      response, bodiless ? http::BodyLength::none() : http::BodyLength::known(body_.size()));
  write_piece();
}

void WholeResponse::write_piece() {
  const auto piece = body_.view().substr(sent_, kPieceBytes);
  sent_ += piece.size();
  const bool last = sent_ == body_.size();
  if (last) attempt_.about_to_complete();
  attempt_.request().client.write_body(piece, last);
}

}  // namespace smg::relay
