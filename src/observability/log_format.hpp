#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <smg/observability/log.hpp>

/// How a record becomes a line. The part known when a record is made is formatted by the thread
/// that logs; time and level are put before it by the thread that writes.
namespace smg::observability {

enum class LogForm : std::uint8_t { Text, ColouredText, Json };

/// Appends all of a line behind time and level, without the line feed.
void append_payload(std::string& out, LogForm form, std::string_view message,
                    std::span<const LogField> fields);

/// Appends the line that holds this payload, with its line feed. Times are in UTC.
void append_line(std::string& out, LogForm form, std::chrono::system_clock::time_point time,
                 LogLevel level, std::string_view payload);

/// The UTC date of a time as `YYYY-MM-DD`.
[[nodiscard]] std::string date_of(std::chrono::system_clock::time_point time);

}  // namespace smg::observability
