#include "smg/observability/access_log.hpp"

#include <iterator>
#include <span>

#include <smg/observability/log.hpp>

namespace smg::observability {
namespace {

// Long enough for what is real; what a client invents must not fill the log.
constexpr std::size_t kMaxMethodLength = 32;
constexpr std::size_t kMaxPathLength = 512;
constexpr std::size_t kMaxIdLength = 256;

}  // namespace

void write_access(const AccessRecord& record, bool is_probe) {
  const LogLevel level = access_level(record.status, is_probe);
  if (!log_enabled(level)) return;
  const std::string_view path = record.path.substr(0, record.path.find_first_of("?#"));
  const LogField fields[] = {
      {"method", record.method.substr(0, kMaxMethodLength)},
      {"path", path.substr(0, kMaxPathLength)},
      {"version", record.http_version},
      {"status", record.status},
      {"latency_us", std::int64_t{record.latency.count()}},
      {"request_id", record.request_id.substr(0, kMaxIdLength)},
      {"body", record.streamed ? "streamed" : "buffered"},
      {"bytes_in", record.bytes_in},
      {"bytes_out", record.bytes_out},
      {"worker", record.worker},
  };
  // The worker comes last, so that it can be left out when there was none.
  const std::size_t count = std::size(fields) - (record.worker.empty() ? 1 : 0);
  log(level, "request finished", std::span(fields).first(count));
}

}  // namespace smg::observability
