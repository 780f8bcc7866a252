#include "smg/observability/trace_context.hpp"

#include <algorithm>

#include <smg/base/random_bits.hpp>
#include <smg/base/text.hpp>

namespace smg::observability {
namespace {

using std::string_view;

constexpr std::size_t kMostMembers = 32;
constexpr std::size_t kLongestKey = 256;
constexpr std::size_t kLongestValue = 256;

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

constexpr bool is_lower_letter(char c) {
  return c >= 'a' && c <= 'z';
}

/// The number that lower-case hexadecimal digits make, at most 16 of them.
std::optional<std::uint64_t> parse_hex(string_view digits) noexcept {
  std::uint64_t number = 0;
  for (const char c : digits) {
    const bool is_letter = c >= 'a' && c <= 'f';
    if (!is_letter && !is_digit(c)) return std::nullopt;
    number = number << 4 | static_cast<std::uint64_t>(is_letter ? c - 'a' + 10 : c - '0');
  }
  return number;
}

/// Writes the low `count` digits of `number` and returns what is behind them.
char* write_hex(char* out, std::uint64_t number, int count) noexcept {
  for (int shift = 4 * (count - 1); shift >= 0; shift -= 4) {
    *out++ = "0123456789abcdef"[number >> shift & 0xF];
  }
  return out;
}

bool is_state_key(string_view key) noexcept {
  if (key.empty() || key.size() > kLongestKey) return false;
  if (!is_lower_letter(key.front()) && !is_digit(key.front())) return false;
  return std::ranges::all_of(key, [](char c) {
    return is_lower_letter(c) || is_digit(c) || string_view("_-*/@").find(c) != string_view::npos;
  });
}

bool is_state_value(string_view value) noexcept {
  if (value.empty() || value.size() > kLongestValue) return false;
  return std::ranges::all_of(value,
                             [](char c) { return c >= ' ' && c <= '~' && c != ',' && c != '='; });
}

bool is_state_member(string_view member) noexcept {
  const auto equals = member.find('=');
  return equals != string_view::npos && is_state_key(member.substr(0, equals)) &&
         is_state_value(member.substr(equals + 1));
}

}  // namespace

std::optional<TraceContext> parse_traceparent(string_view value) noexcept {
  constexpr std::size_t kLength = std::tuple_size_v<TraceParentText>;
  if (value.size() < kLength || value[2] != '-' || value[35] != '-' || value[52] != '-') {
    return std::nullopt;
  }
  const auto version = parse_hex(value.substr(0, 2));
  if (!version || *version == 0xFF) return std::nullopt;
  if (value.size() > kLength && (*version == 0 || value[kLength] != '-')) return std::nullopt;
  const auto high = parse_hex(value.substr(3, 16));
  const auto low = parse_hex(value.substr(19, 16));
  const auto span = parse_hex(value.substr(36, 16));
  const auto flags = parse_hex(value.substr(53, 2));
  if (!high || !low || !span || !flags) return std::nullopt;
  if ((*high == 0 && *low == 0) || *span == 0) return std::nullopt;
  constexpr auto kKnown = TraceContext::kSampled | TraceContext::kRandomId;
  return TraceContext{{*high, *low}, *span, static_cast<std::uint8_t>(*flags & kKnown)};
}

TraceParentText format_traceparent(const TraceContext& context) noexcept {
  TraceParentText text;
  char* out = write_hex(text.data(), 0, 2);
  *out++ = '-';
  out = write_hex(out, context.trace.high, 16);
  out = write_hex(out, context.trace.low, 16);
  *out++ = '-';
  out = write_hex(out, context.span, 16);
  *out++ = '-';
  write_hex(out, context.flags, 2);
  return text;
}

bool is_tracestate(string_view value) noexcept {
  std::size_t members = 0;
  bool sound = true;
  text::for_each_element(value, [&](string_view member) {
    ++members;
    sound = sound && is_state_member(member);
  });
  return sound && members > 0 && members <= kMostMembers;
}

TraceId make_trace_id() {
  // Its low half is never zero, and so the whole is not.
  return {random_bits(), make_span_id()};
}

SpanId make_span_id() {
  SpanId id = 0;
  while (id == 0) id = random_bits();
  return id;
}

void append_hex(std::string& out, TraceId id) {
  append_hex(out, id.high);
  append_hex(out, id.low);
}

void append_hex(std::string& out, SpanId id) {
  char digits[16];
  out.append(digits, write_hex(digits, id, 16));
}

}  // namespace smg::observability
