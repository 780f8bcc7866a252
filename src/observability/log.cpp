#include "smg/observability/log.hpp"

#include <atomic>
#include <memory>
#include <vector>

#include <spdlog/async_logger.h>
#include <unistd.h>

#include "observability/log_format.hpp"
#include "observability/log_sinks.hpp"

namespace smg::observability {
namespace {

constexpr std::size_t kQueuedRecords = 8192;
constexpr int kOff = static_cast<int>(LogLevel::Error) + 1;

/// What init_logging sets up. The logger stays after shutdown_logging, so that a late record finds
/// one.
struct Logging {
  LogForm form = LogForm::Text;
  std::shared_ptr<spdlog::details::thread_pool> queue;
  std::shared_ptr<spdlog::async_logger> logger;
};

/// Never destroyed: objects that end after main may still log.
[[nodiscard]] Logging& logging() {
  static auto* const instance = new Logging;
  return *instance;
}

/// The lowest level that is written. Apart from Logging, to be asked without an indirection.
std::atomic<int> lowest_level{kOff};

[[nodiscard]] spdlog::level::level_enum to_spdlog(LogLevel level) noexcept {
  switch (level) {
    case LogLevel::Debug: return spdlog::level::debug;
    case LogLevel::Info: return spdlog::level::info;
    case LogLevel::Warn: return spdlog::level::warn;
    case LogLevel::Error: break;
  }
  return spdlog::level::err;
}

}  // namespace

void init_logging(const config::Observability& settings) {
  shutdown_logging();
  const LogForm form = settings.log_json ? LogForm::Json : LogForm::Text;
  const bool coloured = form == LogForm::Text && ::isatty(STDOUT_FILENO) == 1;
  const auto queue = std::make_shared<spdlog::details::thread_pool>(kQueuedRecords, 1);
  std::vector<spdlog::sink_ptr> sinks{
      std::make_shared<StdoutSink>(coloured ? LogForm::ColouredText : form, *queue)};
  if (!settings.log_dir.empty()) {
    sinks.push_back(std::make_shared<DailyFileSink>(form, *queue, settings.log_dir));
  }
  const auto logger = std::make_shared<spdlog::async_logger>(
      "smg", sinks.begin(), sinks.end(), queue, spdlog::async_overflow_policy::overrun_oldest);
  logger->set_level(spdlog::level::trace);  // log_enabled() has decided already
  logger->flush_on(spdlog::level::warn);
  logging() = {form, queue, logger};
  lowest_level.store(static_cast<int>(settings.log_level));
}

void shutdown_logging() {
  lowest_level.store(kOff);
  Logging& current = logging();
  if (!current.queue) return;
  current.queue.reset();  // writes out what is queued, then joins its thread
  for (const spdlog::sink_ptr& sink : current.logger->sinks()) sink->flush();
}

bool log_enabled(LogLevel level) noexcept {
  return static_cast<int>(level) >= lowest_level.load(std::memory_order_acquire);
}

void log(LogLevel level, std::string_view message, std::span<const LogField> fields) {
  if (!log_enabled(level)) return;
  thread_local std::string payload;  // keeps its memory from record to record
  payload.clear();
  const Logging& current = logging();
  append_payload(payload, current.form, message, fields);
  current.logger->log(to_spdlog(level), spdlog::string_view_t(payload.data(), payload.size()));
}

}  // namespace smg::observability
