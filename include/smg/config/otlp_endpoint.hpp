#pragma once

#include <string_view>

#include <smg/config/worker_url.hpp>

namespace smg::config {

/// Reads the address of a collector of traces, `host:port`: nothing before or behind it, IPv6
/// addresses in brackets. It is spoken to in plain HTTP. Errors are BadRequest.
[[nodiscard]] Result<WorkerUrl> parse_otlp_endpoint(std::string_view text);

}  // namespace smg::config
