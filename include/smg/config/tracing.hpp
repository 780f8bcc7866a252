#pragma once

#include <string>

namespace smg::config {

/// Traces of requests, for a collector (spec, shell section 4).
struct Tracing {
  bool enabled = false;                          ///< --enable-trace
  std::string otlp_endpoint = "localhost:4318";  ///< --otlp-traces-endpoint, OTLP over HTTP
};

}  // namespace smg::config
