#include "relay/body_collector.hpp"

#include <smg/relay/request_body.hpp>

namespace smg::relay {
namespace {

constexpr std::size_t kFirstRoom = 16 * 1024;
/// A length that a client announces is taken on trust up to here; a longer body earns its memory.
constexpr std::uint64_t kTrustedLength = 1024 * 1024;

std::optional<GatewayError> refuse_by_head(const http::RequestHead& head) {
  if (!says_json(head.value("content-type"))) {
    return fail(ErrorCode::NotJson, "Expected request with `Content-Type: application/json`");
  }
  const auto* coding = head.find("content-encoding");
  if (coding != nullptr && !text::equals_ignoring_case(coding->value, "identity")) {
    return fail(ErrorCode::ContentCoding, "A buffered request body must not have a content coding");
  }
  return std::nullopt;
}

}  // namespace

bool says_json(std::string_view content_type) noexcept {
  const auto type = text::trim(content_type.substr(0, content_type.find(';')));
  if (text::equals_ignoring_case(type, "application/json")) return true;
  constexpr std::string_view kSuffix = "+json";
  return text::starts_with_ignoring_case(type, "application/") && type.size() > kSuffix.size() &&
         text::equals_ignoring_case(type.substr(type.size() - kSuffix.size()), kSuffix);
}

net::Task<Result<>> collect_body(const Services& services, RequestContext& request,
                                 BodyBuffer& body) {
  auto& client = request.client;
  if (auto refused = refuse_by_head(client.head())) co_return *refused;
  const auto limit = services.config.limits.max_payload_size;
  if (const auto length = client.head().content_length) {
    body.reserve_behind(static_cast<std::size_t>(std::min(*length, kTrustedLength)) + kBodyPadding);
  }
  while (!client.body_ended()) {
    const auto room = body.prepare(body.capacity() > body.size() ? 1 : kFirstRoom);
    auto got = co_await client.read_body(room);
    if (!got) co_return got.error();
    body.commit(*got);
    // What is announced need not be waited for.
    if (body.size() > limit || client.announced_bytes() > limit - body.size()) {
      co_return fail(ErrorCode::BodyTooLarge,
                     "Request body exceeded " + std::to_string(limit) + " bytes");
    }
  }
  co_return Result<>();
}

}  // namespace smg::relay
