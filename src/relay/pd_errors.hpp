#pragma once

#include <string>
#include <string_view>

#include <smg/base/error.hpp>
#include <smg/routing/pd_pairing.hpp>

/// What a client is told when one of the two workers that share its request fails (router modes,
/// section 1c). Statuses are kept as they are: a 429 must stay one.
namespace smg::relay::pd {

/// An answer that is no success. `body` is what it said, perhaps cut off.
struct FailedAnswer {
  int status = 0;
  std::string_view body;
  std::string_view retry_after;  ///< the field's value; empty: none
};

/// Of a prefill worker whose answer was waited for side by side with decode's.
[[nodiscard]] GatewayError prefill_error(const FailedAnswer& answer);
/// Of a prefill worker that was asked first.
[[nodiscard]] GatewayError prefill_upstream_error(const FailedAnswer& answer);
/// The message is the answer's `error.message`, or its `message`, or all of it.
[[nodiscard]] GatewayError decode_error(const FailedAnswer& answer);

/// An exchange with one of the two that ended in `error`: what was its worker's fault says so.
[[nodiscard]] GatewayError transport_error(routing::WorkerRole role, const GatewayError& error);

/// The one event of a stream that decode refused: `{"error":{"message":…,"status":…}}`, where the
/// message is the answer itself, if it is JSON.
[[nodiscard]] std::string error_event(const FailedAnswer& answer);

}  // namespace smg::relay::pd
