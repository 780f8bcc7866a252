#include "smg/observability/audit_log.hpp"

#include <ctime>
#include <string>

#include <smg/observability/log.hpp>

namespace smg::observability {
namespace {

// What a client or a token invents must not fill the log.
constexpr std::size_t kMaxLength = 512;

/// RFC 3339, UTC, milliseconds.
std::string rfc3339(std::chrono::system_clock::time_point time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const std::time_t when = std::chrono::system_clock::to_time_t(seconds);
  std::tm parts{};
  gmtime_r(&when, &parts);
  char text[32];
  const auto length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
  const auto milliseconds =
      std::chrono::duration_cast<std::chrono::milliseconds>(time - seconds).count();
  return std::string(text, length) + "." + std::to_string(1000 + milliseconds).substr(1) + "Z";
}

}  // namespace

void write_audit(const AuditRecord& record) {
  if (!log_enabled(LogLevel::Info)) return;
  const std::string_view path = record.path.substr(0, record.path.find_first_of("?#"));
  const std::string timestamp = rfc3339(record.time);
  log_info("control_plane_audit", {{"timestamp", timestamp},
                                   {"principal", record.principal.substr(0, kMaxLength)},
                                   {"auth_method", record.auth_method},
                                   {"role", record.role},
                                   {"method", record.method},
                                   {"path", path.substr(0, kMaxLength)},
                                   {"resource", record.resource},
                                   {"outcome", record.allowed ? "success" : "denied"},
                                   {"request_id", record.request_id.substr(0, kMaxLength)},
                                   {"details", record.details}});
}

}  // namespace smg::observability
