#include "relay/body_collector.hpp"

#include <smg/relay/request_body.hpp>

namespace smg::relay {
namespace {

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

std::optional<Result<>> BodyCollector::try_collect() {
  if (!std::exchange(begun_, true)) {
    if (auto refused = refuse_by_head(client_.head())) return *refused;
    if (const auto length = client_.head().content_length) {
      body_.reserve_behind(static_cast<std::size_t>(std::min(*length, kTrustedLength)) +
                           kBodyPadding);
    }
  }
  while (!client_.body_ended()) {
    const auto got = client_.try_read_body(body_.prepare_some());
    if (!got) return std::nullopt;
    if (auto accepted = accept(*got); !accepted) return accepted;
  }
  return Result<>();
}

net::Task<Result<>> BodyCollector::collect() {
  for (;;) {
    if (auto done = try_collect()) co_return *done;
    co_await client_.arrival();
  }
}

Result<> BodyCollector::accept(const Result<std::size_t>& got) {
  if (!got) return got.error();
  body_.commit(*got);
  // What is announced need not be waited for.
  if (body_.size() > limit_ || client_.announced_bytes() > limit_ - body_.size()) {
    return fail(ErrorCode::BodyTooLarge,
                "Request body exceeded " + std::to_string(limit_) + " bytes");
  }
  return Result<>();
}

}  // namespace smg::relay
