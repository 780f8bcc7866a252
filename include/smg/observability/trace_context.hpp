#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// W3C Trace Context (https://www.w3.org/TR/trace-context/): who a request's trace belongs to.
namespace smg::observability {

/// 128 bits, never all zero.
struct TraceId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  bool operator==(const TraceId&) const = default;
};

/// 64 bits, never zero.
using SpanId = std::uint64_t;

/// What a `traceparent` says: the trace, one span of it, and the flags that go along.
struct TraceContext {
  static constexpr std::uint8_t kSampled = 0x01;   ///< the caller records its spans
  static constexpr std::uint8_t kRandomId = 0x02;  ///< the trace id is random (level 2)

  TraceId trace;
  SpanId span = 0;
  std::uint8_t flags = 0;

  [[nodiscard]] bool sampled() const noexcept { return (flags & kSampled) != 0; }
  bool operator==(const TraceContext&) const = default;
};

/// Reads a `traceparent`: lower-case hexadecimal digits, ids that are not zero, nothing behind them
/// in version 00. A later version is read by what it shares with 00; flags that are not known are
/// dropped. nullopt: as good as none.
[[nodiscard]] std::optional<TraceContext> parse_traceparent(std::string_view value) noexcept;

/// A `traceparent` of version 00.
using TraceParentText = std::array<char, 55>;
[[nodiscard]] TraceParentText format_traceparent(const TraceContext& context) noexcept;

/// Whether `value`, all lines of `tracestate` joined by commas, is at most 32 members of key=value
/// with the characters that the standard allows. Empty members count as none; at least one is
/// needed.
[[nodiscard]] bool is_tracestate(std::string_view value) noexcept;

[[nodiscard]] TraceId make_trace_id();
[[nodiscard]] SpanId make_span_id();

/// Appends the id as 32 or 16 lower-case hexadecimal digits.
void append_hex(std::string& out, TraceId id);
void append_hex(std::string& out, SpanId id);

}  // namespace smg::observability
