#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <smg/base/text.hpp>

namespace smg::http {

enum class Method : std::uint8_t { Get, Head, Post, Put, Patch, Delete, Options, Other };

/// The registered name; "OTHER" for a method outside the seven usual ones.
[[nodiscard]] std::string_view name(Method method) noexcept;

/// The reason phrase of a status code (RFC 9110 15), "Unknown" for codes without one.
[[nodiscard]] std::string_view reason_phrase(int status) noexcept;

/// One field line: name in its original case, value without surrounding blanks.
struct Field {
  std::string_view name;
  std::string_view value;
};

/// Field lines in their order of arrival. The views point into memory of whoever made the list.
using Fields = std::vector<Field>;

/// The first field of this name (in any case), or nullptr.
[[nodiscard]] inline const Field* find_field(const Fields& fields, std::string_view name) noexcept {
  for (const Field& field : fields) {
    if (text::equals_ignoring_case(field.name, name)) return &field;
  }
  return nullptr;
}

/// How the end of a body is told.
struct BodyLength {
  enum class Kind : std::uint8_t {
    None,        ///< there is no body, and nothing says how long it is (204, 304)
    Known,       ///< `bytes` follow
    Chunked,     ///< ends by its own framing
    UntilClose,  ///< ends with the connection (responses only)
  };
  Kind kind = Kind::None;
  std::uint64_t bytes = 0;

  static BodyLength none() { return {Kind::None, 0}; }
  static BodyLength known(std::uint64_t n) { return {Kind::Known, n}; }
  static BodyLength chunked() { return {Kind::Chunked, 0}; }
  static BodyLength until_close() { return {Kind::UntilClose, 0}; }
};

/// A request's start line and fields. The views point into `text`, which the head owns: a head is
/// moved or filled in place, never copied.
struct RequestHead {
  RequestHead() = default;
  RequestHead(const RequestHead&) = delete;
  RequestHead& operator=(const RequestHead&) = delete;

  std::string text;
  Method method = Method::Other;
  std::string_view path;   ///< of the target, without query and fragment
  std::string_view query;  ///< of the target, without the question mark
  int version = 11;        ///< 10, 11 or 20
  Fields fields;

  std::optional<std::uint64_t>
      content_length;  ///< a valid Content-Length without Transfer-Encoding
  bool chunked = false;
  bool keep_alive = true;
  bool expects_continue = false;
  bool expects_unknown = false;  ///< something else than 100-continue: it cannot be met

  [[nodiscard]] const Field* find(std::string_view name) const noexcept {
    return find_field(fields, name);
  }
  [[nodiscard]] std::string_view value(std::string_view name) const noexcept {
    const Field* field = find(name);
    return field != nullptr ? field->value : std::string_view{};
  }
};

/// Reads the Expect fields of a head whose `version` and `fields` are there. HTTP/1.0 has no
/// expectations (RFC 9110 10.1.1).
void read_expectation(RequestHead& head) noexcept;

/// A response's status and fields as a worker sent them. The views point into `text`.
struct ResponseHead {
  ResponseHead() = default;
  ResponseHead(const ResponseHead&) = delete;
  ResponseHead& operator=(const ResponseHead&) = delete;

  std::string text;
  int status = 0;
  int version = 11;
  Fields fields;
  BodyLength length;
  bool keep_alive = true;

  [[nodiscard]] const Field* find(std::string_view name) const noexcept {
    return find_field(fields, name);
  }
};

/// Whether a response of this status has no body whatever its fields say (RFC 9112 6.3).
[[nodiscard]] constexpr bool is_bodiless(int status) noexcept {
  return (status >= 100 && status < 200) || status == 204 || status == 304;
}

/// The media type of a Content-Type value, without parameters, compared without case.
[[nodiscard]] constexpr bool has_media_type(std::string_view content_type,
                                            std::string_view media_type) noexcept {
  return text::equals_ignoring_case(text::trim(content_type.substr(0, content_type.find(';'))),
                                    media_type);
}

}  // namespace smg::http
