#include "fuzz/h1_heads.hpp"

namespace {

using namespace smg;
using namespace smg::fuzz;
using Kind = http::BodyLength::Kind;

bool alike(const http::ResponseHead& a, const http::ResponseHead& b) {
  return a.status == b.status && a.version == b.version && a.length.kind == b.length.kind &&
         a.length.bytes == b.length.bytes && a.keep_alive == b.keep_alive &&
         same_fields(a.fields, b.fields);
}

void check_head(const http::ResponseHead& head, bool to_head_request) {
  check_fields(head.fields, head.text);
  require(head.status >= 100 && head.status <= 999, "a status has three digits");
  require(head.version == 10 || head.version == 11, "the version is known");
  require((head.length.kind == Kind::None) == (to_head_request || http::is_bodiless(head.status)),
          "the status and the method say whether there is a body");
  require(head.length.kind == Kind::Known || head.length.bytes == 0,
          "only a known length has bytes");
  require(head.length.kind != Kind::UntilClose || !head.keep_alive,
          "a body without end ends the connection");
  const bool ambiguous =
      head.find("transfer-encoding") != nullptr && head.find("content-length") != nullptr;
  require(head.length.kind == Kind::None || !ambiguous || !head.keep_alive,
          "nothing follows ambiguous framing");
}

}  // namespace

/// The first byte is the size of the pieces in which a worker's head arrives, and in its lowest bit
/// whether it answers a HEAD.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  Input input(bytes, size);
  const auto choice = input.byte();
  const bool to_head_request = (choice & 1) != 0;
  const auto text = take_head(input.rest(), 1U + choice);
  if (text.empty()) return 0;
  http::ResponseHead head;
  head.text = text;
  if (const auto parsed = http::parse_response_head(head, to_head_request); !parsed) {
    require(parsed.error().code == ErrorCode::UpstreamConnect, "a refusal is the worker's fault");
    return 0;
  }
  check_head(head, to_head_request);
  require(std::ranges::count(text, '\n') == static_cast<std::ptrdiff_t>(head.fields.size() + 2),
          "every line is a field");
  // A head that was used before, of another response.
  http::ResponseHead again;
  again.text = "HTTP/1.0 204 No Content\r\nX: y\r\n\r\n";
  (void)http::parse_response_head(again, false);
  again.text = written(start_line(text), head.fields);
  require(http::parse_response_head(again, to_head_request).has_value() && alike(head, again),
          "a head that is written again means the same");
  return 0;
}
