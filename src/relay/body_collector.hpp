#pragma once

#include "relay/services.hpp"
#include <smg/base/body_buffer.hpp>
#include <smg/relay/inference_relay.hpp>

namespace smg::relay {

/// Reads a request body whole into `body`, for the buffered path.
class BodyCollector {
 public:
  BodyCollector(const Services& services, RequestContext& request, BodyBuffer& body)
      : client_(request.client), limit_(services.config.limits.max_payload_size), body_(body) {}

  /// Errors: NotJson, ContentCoding (ruling 6), BodyTooLarge past --max-payload-size, and those of
  /// ClientExchange::read_body.
  [[nodiscard]] net::Task<Result<>> collect();

  /// As `collect`, of what has arrived; nullopt: `collect` has to go on from there. Spares the
  /// coroutine.
  [[nodiscard]] std::optional<Result<>> try_collect();

 private:
  [[nodiscard]] Result<> accept(const Result<std::size_t>& got);

  http::ClientExchange& client_;
  const std::uint64_t limit_;
  BodyBuffer& body_;
  bool begun_ = false;
};

/// Whether a Content-Type says JSON: application/json or a +json suffix, in any case.
[[nodiscard]] bool says_json(std::string_view content_type) noexcept;

}  // namespace smg::relay
