#pragma once

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>

#include <spdlog/async_logger.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/sinks/base_sink.h>

#include "observability/log_format.hpp"

namespace smg::observability {

/// A sink that collects lines and writes them in one go when the queue has run empty, so that a
/// busy log costs few system calls and a quiet one lags by nothing. Runs on the logging thread.
class LineSink : public spdlog::sinks::base_sink<std::mutex> {
 protected:
  /// `queue` outlives the last record that it hands to this sink.
  LineSink(LogForm form, spdlog::details::thread_pool& queue) : form_(form), queue_(queue) {}

  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override;

  /// The file for a record of this time; called before every record. Negative: nowhere.
  [[nodiscard]] virtual int descriptor_at(std::chrono::system_clock::time_point time) = 0;

 private:
  LogForm form_;
  spdlog::details::thread_pool& queue_;
  std::string lines_;
  int descriptor_ = -1;  // where lines_ belong
};

/// Standard output.
class StdoutSink final : public LineSink {
 public:
  StdoutSink(LogForm form, spdlog::details::thread_pool& queue) : LineSink(form, queue) {}

 private:
  [[nodiscard]] int descriptor_at(std::chrono::system_clock::time_point time) override;
};

/// `smg.YYYY-MM-DD.log` in a directory, a new one each day of UTC.
class DailyFileSink final : public LineSink {
 public:
  /// Throws std::runtime_error if the directory or today's file cannot be made.
  DailyFileSink(LogForm form, spdlog::details::thread_pool& queue, std::string directory);
  ~DailyFileSink() override;

 private:
  [[nodiscard]] int descriptor_at(std::chrono::system_clock::time_point time) override;
  [[nodiscard]] int open_file(const std::string& date) const;

  std::string directory_;
  std::string date_;
  std::chrono::sys_days day_;
  int file_ = -1;
};

}  // namespace smg::observability
