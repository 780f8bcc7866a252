#pragma once

#include <span>
#include <string>
#include <string_view>

#include <smg/observability/request_trace.hpp>

namespace smg::control {

/// The spans of these requests as an ExportTraceServiceRequest of OTLP, in its JSON encoding:
/// attributes by the semantic conventions for HTTP, the gateway's own under `smg.`. `version` is
/// that of the service `smg`.
[[nodiscard]] std::string encode_otlp(std::span<const observability::RequestTracePtr> traces,
                                      std::string_view version);

}  // namespace smg::control
