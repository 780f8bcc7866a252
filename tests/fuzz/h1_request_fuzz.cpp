#include <set>

#include "fuzz/h1_heads.hpp"

namespace {

using namespace smg;
using namespace smg::fuzz;

bool alike(const http::RequestHead& a, const http::RequestHead& b) {
  return a.method == b.method && a.path == b.path && a.query == b.query && a.version == b.version &&
         a.content_length == b.content_length && a.chunked == b.chunked &&
         a.keep_alive == b.keep_alive && a.expects_continue == b.expects_continue &&
         same_fields(a.fields, b.fields);
}

void check_head(const http::RequestHead& head) {
  const std::string_view text = head.text;
  check_fields(head.fields, text);
  // "/" stands for the missing path of a target in absolute form.
  require(head.path == "/" || lies_in(head.path, text), "the path lies in the head");
  require(lies_in(head.query, text), "the query lies in the head");
  require(head.path.find_first_of("?# ") == std::string_view::npos, "a path has no query");
  require(head.query.find_first_of("# ") == std::string_view::npos, "a query has no fragment");
  require(!(head.chunked && head.content_length), "a body ends in one way");
  require(head.version == 10 || head.version == 11, "the version is known");
  const bool has_coding = head.find("transfer-encoding") != nullptr;
  require(head.chunked == has_coding, "a transfer coding is chunked or refused");
  require(!(has_coding && head.find("content-length") != nullptr && head.keep_alive),
          "nothing follows ambiguous framing");
  require(
      head.content_length.has_value() == (!has_coding && head.find("content-length") != nullptr),
      "a length is valid or refused");
}

}  // namespace

/// The first byte is the size of the pieces in which a request's head arrives.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  Input input(bytes, size);
  const std::size_t piece = 1U + input.byte();
  const auto text = take_head(input.rest(), piece);
  if (text.empty()) return 0;
  http::RequestHead head;
  head.text = text;
  if (const auto parsed = http::parse_request_head(head); !parsed) {
    require(parsed.error().code == ErrorCode::BadRequest, "a refusal is the client's fault");
    require(std::set{400, 414, 431, 501, 505}.contains(parsed.error().status()),
            "a refusal has a status");
    return 0;
  }
  check_head(head);
  require(std::ranges::count(text, '\n') == static_cast<std::ptrdiff_t>(head.fields.size() + 2),
          "every line is a field");
  // A head that was used before, of another request.
  http::RequestHead again;
  again.text = "PUT /x?y HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n";
  (void)http::parse_request_head(again);
  again.text = written(start_line(text), head.fields);
  require(http::parse_request_head(again).has_value() && alike(head, again),
          "a head that is written again means the same");
  return 0;
}
