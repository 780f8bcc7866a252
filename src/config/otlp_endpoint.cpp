#include <smg/config/otlp_endpoint.hpp>

namespace smg::config {

Result<WorkerUrl> parse_otlp_endpoint(std::string_view text) {
  auto url = parse_worker_url("http://" + std::string(text));
  // Behind an IPv6 address's last colon stands its bracket.
  const auto colon = text.rfind(':');
  const bool is_host_and_port = url && text.find('/') == std::string_view::npos &&
                                colon != std::string_view::npos &&
                                text.find(']', colon) == std::string_view::npos;
  if (!is_host_and_port) {
    return fail(
        ErrorCode::BadRequest,
        "Must be host:port, where a collector takes OTLP over HTTP, such as localhost:4318");
  }
  return url;
}

}  // namespace smg::config
