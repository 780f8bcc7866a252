#pragma once

#include <optional>
#include <string>

#include <smg/base/error.hpp>
#include <smg/config/inference_route.hpp>

namespace smg::gateway {

/// A response of the gateway's own making.
struct PlainResponse {
  int status = 200;
  std::string content_type{};  ///< empty: no body
  std::string body{};
  std::string_view error_code{};  ///< X-SMG-Error-Code, from the error table; empty: none
  int retry_after_seconds = 0;    ///< 0: none
};

/// What a client is told of an error: the only writer of error bodies. The shape of body errors
/// depends on the route's group (spec, request path section 4); all others look alike on every
/// route.
[[nodiscard]] PlainResponse render_error(const GatewayError& error, InferenceRoute route);

/// Content-Length past --max-payload-size, before routing (the page, "Memory Bounds").
[[nodiscard]] PlainResponse length_limit_exceeded();

}  // namespace smg::gateway
