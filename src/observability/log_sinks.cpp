#include "observability/log_sinks.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace smg::observability {
namespace {

constexpr std::size_t kMaxCollectedBytes = 64 * 1024;

[[nodiscard]] LogLevel level_of(spdlog::level::level_enum level) noexcept {
  switch (level) {
    case spdlog::level::debug: return LogLevel::Debug;
    case spdlog::level::warn: return LogLevel::Warn;
    case spdlog::level::err: return LogLevel::Error;
    default: return LogLevel::Info;
  }
}

/// Writes all, or gives up: there is nowhere to report that the log cannot be written.
void write_all(int descriptor, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

void LineSink::sink_it_(const spdlog::details::log_msg& message) {
  const int descriptor = descriptor_at(message.time);
  if (descriptor != descriptor_) {
    flush_();
    descriptor_ = descriptor;
  }
  append_line(lines_, form_, message.time, level_of(message.level),
              {message.payload.data(), message.payload.size()});
  if (lines_.size() >= kMaxCollectedBytes || queue_.queue_size() == 0) flush_();
}

void LineSink::flush_() {
  if (descriptor_ >= 0) write_all(descriptor_, lines_);
  lines_.clear();
}

int StdoutSink::descriptor_at(std::chrono::system_clock::time_point /*time*/) {
  return STDOUT_FILENO;
}

DailyFileSink::DailyFileSink(LogForm form, spdlog::details::thread_pool& queue,
                             std::string directory)
    : LineSink(form, queue),
      directory_(std::move(directory)),
      day_(std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now())) {
  std::error_code error;
  std::filesystem::create_directories(directory_, error);
  if (error) {
    throw std::runtime_error("cannot create log directory '" + directory_ +
                             "': " + error.message());
  }
  file_ = open_file(date_of(day_));
  if (file_ < 0) {
    throw std::runtime_error("cannot open a log file in '" + directory_ +
                             "': " + std::generic_category().message(errno));
  }
}

DailyFileSink::~DailyFileSink() {
  ::close(file_);
}

int DailyFileSink::descriptor_at(std::chrono::system_clock::time_point time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  // Records of two threads around midnight may come out of order: there is no way back.
  if (day <= day_) return file_;
  day_ = day;
  const int next = open_file(date_of(day));
  if (next < 0) return file_;  // better yesterday's file than none
  flush_();
  ::close(file_);
  file_ = next;
  return file_;
}

int DailyFileSink::open_file(const std::string& date) const {
  const std::string path = directory_ + "/smg." + date + ".log";
  return ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
}

}  // namespace smg::observability
