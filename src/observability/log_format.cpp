#include "observability/log_format.hpp"

#include <charconv>
#include <cmath>
#include <ctime>
#include <type_traits>
#include <variant>

namespace smg::observability {
namespace {

constexpr char kHex[] = "0123456789abcdef";

struct LevelFacts {
  std::string_view name;
  std::string_view padded;
  std::string_view colour;  // ANSI
};

[[nodiscard]] const LevelFacts& facts(LogLevel level) noexcept {
  static constexpr LevelFacts kFacts[] = {{"DEBUG", "DEBUG", "\x1b[34m"},
                                          {"INFO", " INFO", "\x1b[32m"},
                                          {"WARN", " WARN", "\x1b[33m"},
                                          {"ERROR", "ERROR", "\x1b[31m"}};
  return kFacts[static_cast<std::size_t>(level)];
}

/// A character of UTF-8 at the start of a text; length 0 if there is none.
struct Decoded {
  char32_t code = 0;
  std::size_t length = 0;
};

/// Decodes one character as RFC 3629 wants it: no overlong forms, no surrogates.
[[nodiscard]] Decoded decode(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return {};
  char32_t code = first & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return {};
    code = (code << 6) | (byte(i) & 0x3FU);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  if (overlong || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return {};
  return {code, length};
}

/// Controls of ASCII and Latin-1, which steer terminals, and what viewers may take for a line's
/// end.
[[nodiscard]] constexpr bool is_control(char32_t code) noexcept {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || code == 0x2028 || code == 0x2029;
}

void append_unicode_escape(std::string& out, char32_t code) {
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kHex[(code >> shift) & 0xFU];
}

/// Appends text with all escaped that could break out of its line. Quotes and backslashes are
/// escaped as well if the text stands in quotes.
void append_escaped(std::string& out, std::string_view text, bool in_quotes) {
  while (!text.empty()) {
    const auto [code, length] = decode(text);
    if (length == 0) {
      append_unicode_escape(out, 0xFFFD);
    } else if (code == '\n') {
      out += "\\n";
    } else if (code == '\r') {
      out += "\\r";
    } else if (code == '\t') {
      out += "\\t";
    } else if (is_control(code)) {
      append_unicode_escape(out, code);
    } else {
      if (in_quotes && (code == '"' || code == '\\')) out += '\\';
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  append_escaped(out, text, true);
  out += '"';
}

/// Whether a value can stand without quotes in the text form.
[[nodiscard]] bool is_plain(std::string_view text) noexcept {
  for (const char c : text) {
    if (c <= ' ' || c > '~' || c == '"' || c == '\\' || c == '=') return false;
  }
  return !text.empty();
}

template <class Number>
void append_number(std::string& out, Number number) {
  char digits[32];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

void append_value(std::string& out, LogForm form, const LogValue& value) {
  const auto append = [&](const auto& held) {
    using Held = std::decay_t<decltype(held)>;
    if constexpr (std::is_same_v<Held, std::string_view>) {
      if (form != LogForm::Json && is_plain(held)) {
        out += held;
      } else {
        append_quoted(out, held);
      }
    } else if constexpr (std::is_same_v<Held, bool>) {
      out += held ? "true" : "false";
    } else if constexpr (std::is_same_v<Held, double>) {
      if (form == LogForm::Json && !std::isfinite(held)) {
        out += "null";  // JSON knows no other
      } else {
        append_number(out, held);
      }
    } else {
      append_number(out, held);
    }
  };
  std::visit(append, value.get());
}

/// Appends `YYYY-MM-DD HH:MM:SS`, UTC.
void append_timestamp(std::string& out, std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  out.append(text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts));
}

}  // namespace

void append_payload(std::string& out, LogForm form, std::string_view message,
                    std::span<const LogField> fields) {
  if (form != LogForm::Json) {
    append_escaped(out, message, false);
    for (const LogField& field : fields) {
      out += ' ';
      out += field.key;
      out += '=';
      append_value(out, form, field.value);
    }
    return;
  }
  out += R"("message":)";
  append_quoted(out, message);
  out += R"(,"target":"smg","fields":{)";
  bool first = true;
  for (const LogField& field : fields) {
    if (!first) out += ',';
    first = false;
    append_quoted(out, field.key);
    out += ':';
    append_value(out, form, field.value);
  }
  out += "}}";
}

void append_line(std::string& out, LogForm form, std::chrono::system_clock::time_point time,
                 LogLevel level, std::string_view payload) {
  const LevelFacts& level_facts = facts(level);
  if (form == LogForm::Json) {
    out += R"({"timestamp":")";
    append_timestamp(out, time);
    out += R"(","level":")";
    out += level_facts.name;
    out += "\",";
  } else {
    append_timestamp(out, time);
    out += ' ';
    if (form == LogForm::ColouredText) out += level_facts.colour;
    out += level_facts.padded;
    if (form == LogForm::ColouredText) out += "\x1b[0m";
    out += ' ';
  }
  out += payload;
  out += '\n';
}

std::string date_of(std::chrono::system_clock::time_point time) {
  std::string stamp;
  append_timestamp(stamp, time);
  return stamp.substr(0, 10);
}

}  // namespace smg::observability
