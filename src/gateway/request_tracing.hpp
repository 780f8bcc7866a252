#pragma once

#include <optional>

#include <smg/relay/inference_relay.hpp>

namespace smg::gateway {

/// The trace that a request belongs to, by its `traceparent` and `tracestate`. Several of the first
/// are as good as none; the lines of the second are one list.
[[nodiscard]] observability::RequestTracePtr start_trace(
    const http::RequestHead& head, std::chrono::steady_clock::time_point started);

/// Tells a trace what the relay came to.
void trace_relay(observability::RequestTrace& trace, const relay::RequestContext& context,
                 const std::optional<GatewayError>& error);

}  // namespace smg::gateway
