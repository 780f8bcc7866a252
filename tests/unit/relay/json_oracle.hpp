#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace smg::relay::test {

/// A JSON validator that reads one byte after the other and shares nothing with the code under
/// test.
class JsonOracle {
 public:
  enum class Verdict { Invalid, Object, OtherValue };

  static Verdict judge(std::string_view text, unsigned max_levels = 1024) {
    if (!is_utf8(text)) return Verdict::Invalid;
    JsonOracle oracle{text, max_levels};
    oracle.blanks();
    const bool object = oracle.peek() == '{';
    if (!oracle.value(0)) return Verdict::Invalid;
    oracle.blanks();
    if (oracle.at_ != text.size()) return Verdict::Invalid;
    return object ? Verdict::Object : Verdict::OtherValue;
  }

 private:
  JsonOracle(std::string_view text, unsigned max_levels) : text_(text), max_levels_(max_levels) {}

  int peek() const { return at_ < text_.size() ? static_cast<unsigned char>(text_[at_]) : -1; }
  bool take(char c) {
    if (peek() != static_cast<unsigned char>(c)) return false;
    ++at_;
    return true;
  }
  void blanks() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\n' || peek() == '\r') ++at_;
  }
  bool word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) return false;
    at_ += expected.size();
    return true;
  }
  bool digits() {
    const auto start = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ != start;
  }

  bool value(unsigned levels) {
    switch (peek()) {
      case '{': return object(levels + 1);
      case '[': return array(levels + 1);
      case '"': return string();
      case 't': return word("true");
      case 'f': return word("false");
      case 'n': return word("null");
      default: return number();
    }
  }

  bool object(unsigned levels) {
    if (levels > max_levels_) return false;
    take('{');
    blanks();
    if (take('}')) return true;
    do {
      blanks();
      if (!string()) return false;
      blanks();
      if (!take(':')) return false;
      blanks();
      if (!value(levels)) return false;
      blanks();
    } while (take(','));
    return take('}');
  }

  bool array(unsigned levels) {
    if (levels > max_levels_) return false;
    take('[');
    blanks();
    if (take(']')) return true;
    do {
      blanks();
      if (!value(levels)) return false;
      blanks();
    } while (take(','));
    return take(']');
  }

  bool number() {
    take('-');
    if (!take('0') && !digits()) return false;
    if (take('.') && !digits()) return false;
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (!take('+')) take('-');
      if (!digits()) return false;
    }
    return true;
  }

  int hex4() {
    int unit = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
      const int c = peek();
      int digit = 0;
      if (c >= '0' && c <= '9')
        digit = c - '0';
      else if (c >= 'a' && c <= 'f')
        digit = c - 'a' + 10;
      else if (c >= 'A' && c <= 'F')
        digit = c - 'A' + 10;
      else
        return -1;
      unit = unit * 16 + digit;
    }
    return unit;
  }

  bool string() {
    if (!take('"')) return false;
    for (;;) {
      const int c = peek();
      if (c < 0x20) return false;  // the end, too
      ++at_;
      if (c == '"') return true;
      if (c != '\\') continue;
      const int letter = peek();
      ++at_;
      if (letter != 'u') {
        if (letter < 0 || std::string_view{"\"\\/bfnrt"}.find(static_cast<char>(letter)) ==
                              std::string_view::npos) {
          return false;
        }
        continue;
      }
      const int unit = hex4();
      if (unit < 0 || (unit >= 0xDC00 && unit <= 0xDFFF)) return false;
      if (unit < 0xD800 || unit > 0xDBFF) continue;
      if (!take('\\') || !take('u')) return false;
      const int low = hex4();
      if (low < 0xDC00 || low > 0xDFFF) return false;
    }
  }

  static bool is_utf8(std::string_view text) {
    const auto byte = [&](std::size_t i) -> std::uint32_t {
      return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
    };
    for (std::size_t i = 0; i < text.size();) {
      const std::uint32_t first = byte(i);
      const std::size_t length = first < 0x80             ? 1
                                 : (first & 0xE0) == 0xC0 ? 2
                                 : (first & 0xF0) == 0xE0 ? 3
                                 : (first & 0xF8) == 0xF0 ? 4
                                                          : 0;
      if (length == 0) return false;
      if (length == 1) {
        ++i;
        continue;
      }
      std::uint32_t point = first & (0x7FU >> length);
      for (std::size_t k = 1; k < length; ++k) {
        if ((byte(i + k) & 0xC0) != 0x80) return false;
        point = point << 6 | (byte(i + k) & 0x3F);
      }
      constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
      if (point < kLeast[length] || point > 0x10FFFF) return false;
      if (point >= 0xD800 && point <= 0xDFFF) return false;
      i += length;
    }
    return true;
  }

  std::string_view text_;
  unsigned max_levels_;
  std::size_t at_ = 0;
};

}  // namespace smg::relay::test
