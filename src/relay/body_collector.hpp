#pragma once

#include "relay/services.hpp"
#include <smg/base/body_buffer.hpp>
#include <smg/relay/inference_relay.hpp>

namespace smg::relay {

/// Reads a request body whole into `body`, for the buffered path. Errors: NotJson, ContentCoding
/// (ruling 6), BodyTooLarge past --max-payload-size, and those of ClientExchange::read_body.
[[nodiscard]] net::Task<Result<>> collect_body(const Services& services, RequestContext& request,
                                               BodyBuffer& body);

/// Whether a Content-Type says JSON: application/json or a +json suffix, in any case.
[[nodiscard]] bool says_json(std::string_view content_type) noexcept;

}  // namespace smg::relay
