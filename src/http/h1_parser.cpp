#include <cstring>

#include <smg/base/text.hpp>
#include <smg/http/h1_parser.hpp>

namespace smg::http {
namespace {

using std::string_view;

/// tchar of RFC 9110 5.6.2.
constexpr std::array<bool, 256> kTokenChar = [] {
  std::array<bool, 256> table{};
  for (unsigned c = '0'; c <= '9'; ++c) table[c] = true;
  for (unsigned c = 'a'; c <= 'z'; ++c) table[c] = table[c - 'a' + 'A'] = true;
  for (const char c : string_view("!#$%&'*+-.^_`|~")) table[static_cast<unsigned char>(c)] = true;
  return table;
}();

/// field-vchar, blank, tab and obs-text (RFC 9110 5.5): everything but other controls.
constexpr std::array<bool, 256> kValueChar = [] {
  std::array<bool, 256> table{};
  for (unsigned c = 0x20; c < 256; ++c) table[c] = c != 0x7F;
  table['\t'] = true;
  return table;
}();

/// What may stand in a Host value: the characters of a URI authority without user info (RFC
/// 3986 3.2.2).
constexpr std::array<bool, 256> kHostChar = [] {
  std::array<bool, 256> table{};
  for (unsigned c = '0'; c <= '9'; ++c) table[c] = true;
  for (unsigned c = 'a'; c <= 'z'; ++c) table[c] = table[c - 'a' + 'A'] = true;
  for (const char c : string_view("-._~%!$&'()*+,;=:[]"))
    table[static_cast<unsigned char>(c)] = true;
  return table;
}();

bool all_in(const std::array<bool, 256>& table, string_view text) noexcept {
  for (const char c : text) {
    if (!table[static_cast<unsigned char>(c)]) return false;
  }
  return true;
}

constexpr bool is_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

bool is_token(string_view text) noexcept {
  return !text.empty() && all_in(kTokenChar, text);
}

GatewayError refuse(int status, const char* why) {
  return GatewayError{ErrorCode::BadRequest, why, status};
}

/// Takes the next line off `rest`, without its end.
string_view take_line(string_view& rest) noexcept {
  const auto lf = rest.find('\n');
  string_view line = rest.substr(0, lf);
  rest.remove_prefix(lf == string_view::npos ? rest.size() : lf + 1);
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  return line;
}

Method method_of(string_view word) noexcept {
  for (const Method m : {Method::Post, Method::Get, Method::Head, Method::Put, Method::Patch,
                         Method::Delete, Method::Options}) {
    if (word == name(m)) return m;
  }
  return Method::Other;
}

/// Takes a request target in origin or absolute form apart (RFC 9112 3.2); any other form is a
/// path.
void split_target(string_view target, RequestHead& head) noexcept {
  string_view path = target;
  for (const string_view scheme : {string_view("http://"), string_view("https://")}) {
    if (!text::starts_with_ignoring_case(path, scheme)) continue;
    path.remove_prefix(scheme.size());
    const auto slash = path.find_first_of("/?#");
    path = slash == string_view::npos ? string_view("/") : path.substr(slash);
    break;
  }
  path = path.substr(0, path.find('#'));
  const auto mark = path.find('?');
  head.path = path.substr(0, mark);
  head.query = mark == string_view::npos ? string_view{} : path.substr(mark + 1);
}

/// Reads the field lines of a head up to its empty line.
Result<> parse_fields(string_view rest, Fields& fields, const HeadLimits& limits) {
  fields.clear();
  for (;;) {
    const string_view line = take_line(rest);
    if (line.empty()) return {};
    if (fields.size() == limits.field_count) return refuse(431, "Too many header fields");
    const auto colon = line.find(':');
    if (colon == string_view::npos) return refuse(400, "Header line without a colon");
    const string_view name = line.substr(0, colon);
    if (name.size() > limits.name_bytes) return refuse(431, "Header field name too long");
    if (!is_token(name)) return refuse(400, "Malformed header field name");
    const string_view value = text::trim(line.substr(colon + 1));
    if (!all_in(kValueChar, value)) return refuse(400, "Malformed header field value");
    fields.push_back({name, value});
  }
}

/// What the framing fields of a message say, before the rules of its kind are applied.
struct Framing {
  std::optional<std::uint64_t> content_length;
  std::optional<string_view> transfer_encoding;
  bool closes = false;
  bool keeps_alive = false;
};

Result<Framing> parse_framing(const Fields& fields) {
  Framing framing;
  for (const auto& [name, value] : fields) {
    if (name.size() == 14 && text::equals_ignoring_case(name, "content-length")) {
      const auto length = text::parse_decimal(value);
      if (!length || (framing.content_length && *framing.content_length != *length)) {
        return refuse(400, "Malformed Content-Length");
      }
      framing.content_length = length;
    } else if (name.size() == 17 && text::equals_ignoring_case(name, "transfer-encoding")) {
      if (framing.transfer_encoding) return refuse(400, "Repeated Transfer-Encoding");
      framing.transfer_encoding = value;
    } else if (name.size() == 10 && text::equals_ignoring_case(name, "connection")) {
      framing.closes = framing.closes || text::list_has(value, "close");
      framing.keeps_alive = framing.keeps_alive || text::list_has(value, "keep-alive");
    }
  }
  return framing;
}

/// 0 for exactly "chunked", else the status that refuses the coding (RFC 9112 6.1, ruling 12).
int transfer_coding_status(string_view value) noexcept {
  if (text::equals_ignoring_case(value, "chunked")) return 0;
  const auto comma = value.rfind(',');
  const bool chunked_last =
      comma != string_view::npos &&
      text::equals_ignoring_case(text::trim(value.substr(comma + 1)), "chunked");
  return chunked_last ? 501 : 400;
}

Result<> check_host(const RequestHead& head) {
  const Field* host = nullptr;
  for (const Field& field : head.fields) {
    if (field.name.size() != 4 || !text::equals_ignoring_case(field.name, "host")) continue;
    if (host != nullptr) return refuse(400, "More than one Host field");
    host = &field;
  }
  if (host == nullptr && head.version == 11) return refuse(400, "Missing Host field");
  if (host != nullptr && !all_in(kHostChar, host->value)) return refuse(400, "Invalid Host field");
  return {};
}

Result<> parse_request_line(string_view line, RequestHead& head, const HeadLimits& limits) {
  const auto first = line.find(' ');
  const auto last = line.rfind(' ');
  if (first == string_view::npos || first == last) return refuse(400, "Malformed request line");
  const string_view method = line.substr(0, first);
  const string_view target = line.substr(first + 1, last - first - 1);
  const string_view version = line.substr(last + 1);
  if (!is_token(method)) return refuse(400, "Malformed method");
  if (target.empty()) return refuse(400, "Malformed request target");
  if (target.size() > limits.target_bytes) return refuse(414, "Request target too long");
  for (const char c : target) {
    if (c <= ' ' || c == 0x7F) return refuse(400, "Malformed request target");
  }
  if (version.size() != 8 || !version.starts_with("HTTP/") || version[6] != '.') {
    return refuse(400, "Malformed HTTP version");
  }
  if (!is_digit(version[5]) || !is_digit(version[7])) return refuse(400, "Malformed HTTP version");
  if (version[5] != '1') return refuse(505, "Unsupported HTTP version");
  head.version = version[7] == '0' ? 10 : 11;
  head.method = method_of(method);
  split_target(target, head);
  return {};
}

}  // namespace

std::size_t find_head_end(string_view bytes, std::size_t searched) noexcept {
  // An end may straddle the boundary: LF CR LF.
  std::size_t from = searched > 3 ? searched - 3 : 0;
  for (;;) {
    const auto lf = bytes.find('\n', from);
    if (lf == string_view::npos) return string_view::npos;
    if (lf + 1 < bytes.size() && bytes[lf + 1] == '\n') return lf + 2;
    if (lf + 2 < bytes.size() && bytes[lf + 1] == '\r' && bytes[lf + 2] == '\n') return lf + 3;
    from = lf + 1;
  }
}

Result<> parse_request_head(RequestHead& head, const HeadLimits& limits) {
  string_view rest = head.text;
  head.content_length.reset();
  head.chunked = false;
  if (auto line = parse_request_line(take_line(rest), head, limits); !line) return line;
  if (auto fields = parse_fields(rest, head.fields, limits); !fields) return fields;
  if (auto host = check_host(head); !host) return host;
  auto framing = parse_framing(head.fields);
  if (!framing) return framing.error();
  if (framing->transfer_encoding) {
    if (head.version == 10) return refuse(400, "Transfer-Encoding in HTTP/1.0");
    if (const int status = transfer_coding_status(*framing->transfer_encoding); status != 0) {
      return refuse(status, "Unsupported transfer coding");
    }
    head.chunked = true;
  } else {
    head.content_length = framing->content_length;
  }
  const bool conflicting = framing->transfer_encoding && framing->content_length;
  head.keep_alive =
      !framing->closes && !conflicting && (head.version == 11 || framing->keeps_alive);
  read_expectation(head);
  return {};
}

Result<> parse_response_head(ResponseHead& head, bool to_head_request, const HeadLimits& limits) {
  const auto bad = [](const char* why) { return fail(ErrorCode::UpstreamConnect, why); };
  string_view rest = head.text;
  const string_view line = take_line(rest);
  if (line.size() < 12 || !line.starts_with("HTTP/1.") || !is_digit(line[7]) || line[8] != ' ' ||
      (line.size() > 12 && line[12] != ' ')) {
    return bad("The worker's response is not HTTP/1");
  }
  const auto status = text::parse_decimal(line.substr(9, 3));
  if (!status || *status < 100) return bad("The worker's response has a malformed status");
  head.status = static_cast<int>(*status);
  head.version = line[7] == '0' ? 10 : 11;
  if (auto fields = parse_fields(rest, head.fields, limits); !fields) {
    return bad("The worker's response has a malformed header field");
  }
  auto framing = parse_framing(head.fields);
  if (!framing) return bad("The worker's response has contradictory framing");
  head.keep_alive = !framing->closes && (head.version == 11 || framing->keeps_alive);
  if (to_head_request || is_bodiless(head.status)) {
    head.length = BodyLength::none();
  } else if (framing->transfer_encoding) {
    if (transfer_coding_status(*framing->transfer_encoding) != 0) {
      return bad("The worker's response has an unsupported transfer coding");
    }
    // Transfer-Encoding overrides Content-Length; the connection is not trusted further (RFC
    // 9112 6.3).
    if (framing->content_length || head.version == 10) head.keep_alive = false;
    head.length = BodyLength::chunked();
  } else if (framing->content_length) {
    head.length = BodyLength::known(*framing->content_length);
  } else {
    head.length = BodyLength::until_close();
    head.keep_alive = false;
  }
  return {};
}

}  // namespace smg::http
