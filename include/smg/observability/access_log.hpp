#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include <smg/config/gateway_config.hpp>

namespace smg::observability {

/// One finished request. The strings need to live only for the call.
struct AccessRecord {
  std::string_view method;
  std::string_view path;                 ///< a query is cut off: it may hold credentials
  int status = 0;                        ///< as sent; 0 if the client left before an answer
  std::chrono::microseconds latency{0};  ///< until the last byte of the response
  std::string_view request_id;
  std::string_view worker;        ///< its id or URL without user info; empty: none
  std::uint64_t bytes_in = 0;     ///< of the request's body
  std::uint64_t bytes_out = 0;    ///< of the response's body
  bool streamed = false;          ///< the request's body was streamed, not buffered
  std::string_view http_version;  ///< `HTTP/1.1`
};

/// DEBUG for probes; else INFO below 400, WARN for 4xx, ERROR for 5xx.
[[nodiscard]] constexpr config::LogLevel access_level(int status, bool is_probe) noexcept {
  using config::LogLevel;
  if (is_probe) return LogLevel::Debug;
  if (status < 400) return LogLevel::Info;
  return status < 500 ? LogLevel::Warn : LogLevel::Error;
}

/// Logs the record at its level; does nothing when that level is off. Long methods and paths are
/// cut.
void write_access(const AccessRecord& record, bool is_probe);

}  // namespace smg::observability
