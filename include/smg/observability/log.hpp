#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include <smg/config/gateway_config.hpp>

/// Logging to standard output and, with --log-dir, to a file a day as well. A record is one line;
/// bytes that could forge another line or steer a terminal are escaped. Secrets are the caller's
/// business: no key, Authorization value or body text may become a message or a field.
namespace smg::observability {

using config::LogLevel;

/// What a field may hold. Refers to text without owning it: only for the duration of a call.
class LogValue {
 public:
  using Variant = std::variant<std::string_view, std::int64_t, std::uint64_t, double, bool>;

  LogValue(std::string_view text) noexcept : value_(text) {}
  LogValue(const std::string& text) noexcept : value_(std::string_view(text)) {}
  LogValue(const char* text) noexcept : value_(std::string_view(text)) {}
  LogValue(std::same_as<bool> auto flag) noexcept : value_(flag) {}
  LogValue(std::signed_integral auto number) noexcept : value_(std::int64_t{number}) {}
  LogValue(std::unsigned_integral auto number) noexcept
    requires(!std::same_as<decltype(number), bool>)
      : value_(std::uint64_t{number}) {}
  LogValue(std::floating_point auto number) noexcept : value_(static_cast<double>(number)) {}

  [[nodiscard]] const Variant& get() const noexcept { return value_; }

 private:
  Variant value_;
};

/// One `key=value`. The key is a literal of the program: letters, digits and underscores.
struct LogField {
  std::string_view key;
  LogValue value;
};

/// Starts logging as configured; before it, records are dropped silently. Not thread-safe: call it
/// before the threads that log. Throws std::runtime_error if the log directory or its file cannot
/// be made: a gateway must not run without the log it was asked for.
void init_logging(const config::Observability& settings);

/// Writes out what is queued and stops logging; later records are dropped. Not thread-safe against
/// init_logging.
void shutdown_logging();

/// Whether records of this level are written. Ask before preparing costly fields.
[[nodiscard]] bool log_enabled(LogLevel level) noexcept;

/// Queues one record; never waits for its writing. If the queue is full, its oldest record is lost.
void log(LogLevel level, std::string_view message, std::span<const LogField> fields);

inline void log(LogLevel level, std::string_view message,
                std::initializer_list<LogField> fields = {}) {
  log(level, message, std::span(fields.begin(), fields.size()));
}

inline void log_debug(std::string_view message, std::initializer_list<LogField> fields = {}) {
  log(LogLevel::Debug, message, fields);
}

inline void log_info(std::string_view message, std::initializer_list<LogField> fields = {}) {
  log(LogLevel::Info, message, fields);
}

inline void log_warn(std::string_view message, std::initializer_list<LogField> fields = {}) {
  log(LogLevel::Warn, message, fields);
}

inline void log_error(std::string_view message, std::initializer_list<LogField> fields = {}) {
  log(LogLevel::Error, message, fields);
}

}  // namespace smg::observability
