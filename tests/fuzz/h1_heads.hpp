#pragma once

#include <string>
#include <string_view>

#include "fuzz/fuzz_input.hpp"
#include <smg/http/h1_parser.hpp>

/// What the targets for HTTP/1 heads share.
namespace smg::fuzz {

/// The head at the start of `wire`, which is found alike however the bytes arrive; empty if it is
/// not whole.
inline std::string_view take_head(std::string_view wire, std::size_t piece) {
  const auto whole = http::find_head_end(wire, 0);
  auto end = std::string_view::npos;
  std::size_t searched = 0;
  while (searched < wire.size() && end == std::string_view::npos) {
    const auto arrived = std::min(wire.size(), searched + piece);
    end = http::find_head_end(wire.substr(0, arrived), searched);
    searched = arrived;
  }
  require(end == whole, "a head ends at the same place in pieces of any size");
  if (whole == std::string_view::npos) return {};
  const auto head = wire.substr(0, whole);
  require(head.ends_with("\n\n") || head.ends_with("\n\r\n"), "a head ends with an empty line");
  return head;
}

/// Views inside the head's text, and nothing in them that could end a line when it is sent on.
inline void check_fields(const http::Fields& fields, std::string_view text) {
  for (const auto& [name, value] : fields) {
    require(!name.empty() && lies_in(name, text), "a name lies in the head");
    require(lies_in(value, text), "a value lies in the head");
    require(name.find_first_of(std::string_view("\0\r\n: \t", 6)) == std::string_view::npos,
            "a name is a token");
    require(value.find_first_of(std::string_view("\0\r\n", 3)) == std::string_view::npos,
            "a value has no line end");
  }
}

inline bool same_fields(const http::Fields& a, const http::Fields& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const auto& left, const auto& right) {
                      return left.name == right.name && left.value == right.value;
                    });
}

/// The head as the gateway would write it: one line per field, every line ended by CRLF.
inline std::string written(std::string_view start_line, const http::Fields& fields) {
  std::string text(start_line);
  text += "\r\n";
  for (const auto& [name, value] : fields) text.append(name).append(": ").append(value) += "\r\n";
  return text + "\r\n";
}

/// The first line of a head, without its end.
inline std::string_view start_line(std::string_view text) {
  auto line = text.substr(0, text.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace smg::fuzz
