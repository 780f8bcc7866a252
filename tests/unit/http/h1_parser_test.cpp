#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include <smg/http/h1_parser.hpp>

namespace smg::http {
namespace {

using namespace std::string_literals;
using std::string;
using std::string_view;

// ---- where a head ends --------------------------------------------------------------------------

TEST(FindHeadEnd, IsBehindTheEmptyLine) {
  constexpr auto kNone = string_view::npos;
  const struct {
    string_view bytes;
    std::size_t end;
  } cases[] = {{"", kNone},
               {"\n", kNone},
               {"GET / HTTP/1.1\r\n", kNone},
               {"GET / HTTP/1.1\r\n\r", kNone},
               {"GET / HTTP/1.1\r\nA: b\r\n\rx\n", kNone},
               {"a\r\n\r\n", 5},
               {"a\n\n", 3},
               {"a\n\r\n", 4},
               {"a\r\n\n", 4},
               {"a\r\nb\r\n\r\nbody\r\n\r\n", 8}};
  for (const auto& c : cases) EXPECT_EQ(find_head_end(c.bytes, 0), c.end) << c.bytes;
}

TEST(FindHeadEnd, DoesNotDependOnHowTheBytesArrive) {
  for (const string_view head :
       {"a\r\nb: c\r\n\r\n", "a\nb: c\n\n", "a\nb\n\r\n", "a\r\nb\r\n\n"}) {
    const string bytes = string(head) + "next";
    for (std::size_t searched = 0; searched < head.size(); ++searched) {
      EXPECT_EQ(find_head_end(string_view(bytes).substr(0, searched), 0), string_view::npos);
      EXPECT_EQ(find_head_end(bytes, searched), head.size()) << head << " from " << searched;
    }
  }
}

// ---- requests that are refused ------------------------------------------------------------------

string post(string_view lines) {
  return "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n" + string(lines) + "\r\n";
}

int status_of(string text, const HeadLimits& limits = {}) {
  RequestHead head;
  head.text = std::move(text);
  const auto parsed = parse_request_head(head, limits);
  if (parsed) return 200;
  EXPECT_EQ(parsed.error().code, ErrorCode::BadRequest);
  return parsed.error().status();
}

struct Refused {
  string_view name;
  string text;
  int status;
};

void expect_refused(const std::vector<Refused>& cases) {
  for (const auto& c : cases) EXPECT_EQ(status_of(c.text), c.status) << c.name;
}

TEST(RequestHead, AmbiguousLengthsAreRefused) {
  expect_refused({
      {"two lengths", post("Content-Length: 5\r\nContent-Length: 6\r\n"), 400},
      {"list differs", post("Content-Length: 5, 6\r\n"), 400},
      {"list agrees", post("Content-Length: 5, 5\r\n"), 400},
      {"plus", post("Content-Length: +5\r\n"), 400},
      {"negative", post("Content-Length: -1\r\n"), 400},
      {"hex", post("Content-Length: 0x5\r\n"), 400},
      {"letters", post("Content-Length: abc\r\n"), 400},
      {"trailing letter", post("Content-Length: 2x\r\n"), 400},
      {"exponent", post("Content-Length: 1e1\r\n"), 400},
      {"empty", post("Content-Length: \r\n"), 400},
      {"overflows", post("Content-Length: 99999999999999999999999\r\n"), 400},
      {"2^64", post("Content-Length: 18446744073709551616\r\n"), 400},
      {"inner space", post("Content-Length: 1 16\r\n"), 400},
      {"bad beside chunked", post("Content-Length: x\r\nTransfer-Encoding: chunked\r\n"), 400},
      {"two beside chunked",
       post("Content-Length: 1\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n"), 400},
  });
}

TEST(RequestHead, UnclearTransferCodingsAreRefused) {
  expect_refused({
      {"unknown", post("Transfer-Encoding: gzip\r\n"), 400},
      {"not last", post("Transfer-Encoding: chunked, gzip\r\n"), 400},
      {"two lines", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"), 400},
      {"two equal lines", post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
       400},
      {"misspelt", post("Transfer-Encoding: xchunked\r\n"), 400},
      {"prefix", post("Transfer-Encoding: chunke\r\n"), 400},
      {"empty", post("Transfer-Encoding:\r\n"), 400},
      {"quoted", post("Transfer-Encoding: \"chunked\"\r\n"), 400},
      {"parameter", post("Transfer-Encoding: chunked;a=b\r\n"), 400},
      {"space before colon", post("Transfer-Encoding : chunked\r\n"), 400},
      {"vertical tab",
       post("Transfer-Encoding: \x0b"
            "chunked\r\n"),
       400},
      {"folded", post("Transfer-Encoding:\r\n chunked\r\n"), 400},
      {"HTTP/1.0", "POST / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
      {"gzip, chunked", post("Transfer-Encoding: gzip, chunked\r\n"), 501},
      {"chunked, chunked", post("Transfer-Encoding: chunked, chunked\r\n"), 501},
      {"identity, chunked", post("Transfer-Encoding: identity,CHUNKED\r\n"), 501},
  });
}

TEST(RequestHead, MalformedFieldLinesAreRefused) {
  expect_refused({
      {"no colon", post("no colon here\r\n"), 400},
      {"empty name", post(": value\r\n"), 400},
      {"space in name", post("X A: value\r\n"), 400},
      {"tab before colon", post("X-A\t: value\r\n"), 400},
      {"separator in name", post("X(A): value\r\n"), 400},
      {"obs-text in name", post("X-\xe9: value\r\n"), 400},
      {"NUL in name", post("X-\0A: v\r\n"s), 400},
      {"NUL in value", post("X-A: a\0b\r\n"s), 400},
      {"bare CR in value", post("X-A: a\rb\r\n"), 400},
      {"CR before the line end", post("X-A: a\r\r\n"), 400},
      {"control in value",
       post("X-A: a\x01"
            "b\r\n"),
       400},
      {"DEL in value", post("X-A: a\x7f\r\n"), 400},
      {"folded", post("X-Request-Id: a\r\n b\r\n"), 400},
      {"folded with a tab", post("X-Request-Id: a\r\n\tb\r\n"), 400},
      {"space before the first field", "POST / HTTP/1.1\r\n Host: x\r\nContent-Length: 5\r\n\r\n",
       400},
  });
}

TEST(RequestHead, MissingDoubleOrInvalidHostIsRefused) {
  const auto get = [](string_view lines) {
    return "GET /health HTTP/1.1\r\n" + string(lines) + "\r\n";
  };
  expect_refused({
      {"none", get(""), 400},
      {"two", get("Host: a\r\nHost: b\r\n"), 400},
      {"two equal", get("Host: a\r\nhost: a\r\n"), 400},
      {"invalid", get("Host: a b@/c\r\n"), 400},
      {"blank", get("Host: a b\r\n"), 400},
      {"slash", get("Host: a/b\r\n"), 400},
      {"user info", get("Host: u@a\r\n"), 400},
      {"obs-text", get("Host: caf\xe9\r\n"), 400},
      {"two in HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400},
  });
}

TEST(RequestHead, MalformedRequestLinesAreRefused) {
  const auto with_host = [](string_view line) { return string(line) + "\r\nHost: x\r\n\r\n"; };
  expect_refused({
      {"HTTP/0.9", with_host("GET /health"), 400},
      {"one word", with_host("GET"), 400},
      {"empty", with_host(""), 400},
      {"HTTP/2.0", with_host("GET /health HTTP/2.0"), 505},
      {"HTTP/3.0", with_host("GET /health HTTP/3.0"), 505},
      {"HTTP/0.9 named", with_host("GET /health HTTP/0.9"), 505},
      {"lower case", with_host("GET /health http/1.1"), 400},
      {"long version", with_host("GET /health HTTP/1.10"), 400},
      {"no minor", with_host("GET /health HTTP/1"), 400},
      {"minor is no digit", with_host("GET /health HTTP/1.x"), 400},
      {"major is no digit", with_host("GET /health HTTP/x.1"), 400},
      {"double space", with_host("GET  /health HTTP/1.1"), 400},
      {"double space before the version", with_host("GET /health  HTTP/1.1"), 400},
      {"trailing space", with_host("GET /health HTTP/1.1 "), 400},
      {"tab", with_host("GET\t/health HTTP/1.1"), 400},
      {"space in target", with_host("GET /hea lth HTTP/1.1"), 400},
      {"empty target", with_host("GET  HTTP/1.1"), 400},
      {"bad method", with_host("GE(T /health HTTP/1.1"), 400},
      {"empty method", with_host(" /health HTTP/1.1"), 400},
      {"control in target", with_host("GET /health\x01 HTTP/1.1"), 400},
      {"DEL in target", with_host("GET /\x7f HTTP/1.1"), 400},
      {"NUL in target", with_host("GET /\0 HTTP/1.1"s), 400},
      {"CR in target", with_host("GET /a\rb HTTP/1.1"), 400},
      {"TLS", with_host("\x16\x03\x01\0\xc8\x01\0\0\xc4"s), 400},
  });
}

TEST(RequestHead, LimitsHoldToTheByte) {
  const auto fields = [](int count) {
    string lines;
    for (int i = 0; i < count; ++i) lines += "X-" + std::to_string(i) + ": v\r\n";
    return post(lines);
  };
  const auto target = [](std::size_t size) {
    return "GET /" + string(size - 1, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n";
  };
  const auto named = [](std::size_t size) { return post(string(size, 'n') + ": v\r\n"); };
  EXPECT_EQ(status_of(fields(99)), 200) << "100 fields with Host";
  EXPECT_EQ(status_of(fields(100)), 431);
  EXPECT_EQ(status_of(fields(5000)), 431);
  EXPECT_EQ(status_of(target(65534)), 200);
  EXPECT_EQ(status_of(target(65535)), 414);
  EXPECT_EQ(status_of(named(65535)), 200);
  EXPECT_EQ(status_of(named(65536)), 431);
  EXPECT_EQ(status_of(post("X-A: " + string(32768, 'a') + "\r\n")), 200);
}

// ---- requests that are read ---------------------------------------------------------------------

struct Read {
  string_view name;
  string text;
  Method method = Method::Post;
  string_view path = "/v1/chat/completions";
  string_view query{};
  int version = 11;
  std::optional<std::uint64_t> content_length{};
  bool chunked = false;
  bool keep_alive = true;
  bool expects_continue = false;
  bool expects_unknown = false;
};

void expect_read(const std::vector<Read>& cases) {
  for (const auto& c : cases) {
    RequestHead head;
    head.text = c.text;
    const auto parsed = parse_request_head(head);
    ASSERT_TRUE(parsed) << c.name << ": " << parsed.error().message;
    EXPECT_EQ(head.method, c.method) << c.name;
    EXPECT_EQ(head.path, c.path) << c.name;
    EXPECT_EQ(head.query, c.query) << c.name;
    EXPECT_EQ(head.version, c.version) << c.name;
    EXPECT_EQ(head.content_length, c.content_length) << c.name;
    EXPECT_EQ(head.chunked, c.chunked) << c.name;
    EXPECT_EQ(head.keep_alive, c.keep_alive) << c.name;
    EXPECT_EQ(head.expects_continue, c.expects_continue) << c.name;
    EXPECT_EQ(head.expects_unknown, c.expects_unknown) << c.name;
  }
}

TEST(RequestHead, FramingIsRead) {
  expect_read({
      {.name = "no body", .text = post("")},
      {.name = "length", .text = post("Content-Length: 5\r\n"), .content_length = 5},
      {.name = "zero", .text = post("Content-Length: 0\r\n"), .content_length = 0},
      {.name = "leading zeros", .text = post("Content-Length: 0002\r\n"), .content_length = 2},
      {.name = "blanks around", .text = post("Content-Length: \t 7 \t\r\n"), .content_length = 7},
      {.name = "two equal",
       .text = post("Content-Length: 5\r\ncontent-length: 5\r\n"),
       .content_length = 5},
      {.name = "equal values",
       .text = post("Content-Length: 5\r\nContent-Length: 05\r\n"),
       .content_length = 5},
      {.name = "2^64-1",
       .text = post("Content-Length: 18446744073709551615\r\n"),
       .content_length = 18446744073709551615U},
      {.name = "chunked", .text = post("Transfer-Encoding: chunked\r\n"), .chunked = true},
      {.name = "any case", .text = post("transfer-encoding: CHUNKED\r\n"), .chunked = true},
      {.name = "length first",
       .text = post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
       .chunked = true,
       .keep_alive = false},
      {.name = "length last",
       .text = post("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"),
       .chunked = true,
       .keep_alive = false},
      {.name = "obs-text", .text = post("X-A: caf\xe9 \xff\r\n")},
      {.name = "tab in value", .text = post("X-A: a\tb\r\n")},
      {.name = "empty value", .text = post("X-A:\r\n")},
      {.name = "bare LF",
       .text = "POST /v1/chat/completions HTTP/1.1\nHost: x\nContent-Length: 5\n\n",
       .content_length = 5},
  });
}

TEST(RequestHead, PersistenceAndExpectationsAreRead) {
  const auto old = [](string_view lines) {
    return "POST /v1/chat/completions HTTP/1.0\r\n" + string(lines) + "\r\n";
  };
  expect_read({
      {.name = "close", .text = post("Connection: close\r\n"), .keep_alive = false},
      {.name = "in a list", .text = post("Connection: foo, Close\r\n"), .keep_alive = false},
      {.name = "upper case", .text = post("CONNECTION: CLOSE\r\n"), .keep_alive = false},
      {.name = "in the second line",
       .text = post("Connection: foo\r\nConnection: close\r\n"),
       .keep_alive = false},
      {.name = "close beats keep-alive",
       .text = post("Connection: keep-alive, close\r\n"),
       .keep_alive = false},
      {.name = "no whole word", .text = post("Connection: closed\r\n")},
      {.name = "1.0", .text = old(""), .version = 10, .keep_alive = false},
      {.name = "1.0 keep-alive", .text = old("Connection: Keep-Alive\r\n"), .version = 10},
      {.name = "1.0 both",
       .text = old("Connection: keep-alive, close\r\n"),
       .version = 10,
       .keep_alive = false},
      {.name = "1.0 length",
       .text = old("Content-Length: 5\r\n"),
       .version = 10,
       .content_length = 5,
       .keep_alive = false},
      {.name = "1.2 is read as 1.1",
       .text = "POST /v1/chat/completions HTTP/1.2\r\nHost: x\r\n\r\n"},
      {.name = "expect",
       .text = post("Expect: 100-continue\r\nContent-Length: 5\r\n"),
       .content_length = 5,
       .expects_continue = true},
      {.name = "expect in any case",
       .text = post("expect: 100-Continue\r\nContent-Length: 5\r\n"),
       .content_length = 5,
       .expects_continue = true},
      {.name = "another expectation", .text = post("Expect: 200-ok\r\n"), .expects_unknown = true},
      {.name = "another expectation besides",
       .text = post("Expect: 100-continue\r\nexpect: 200-ok\r\n"),
       .expects_continue = true,
       .expects_unknown = true},
      {.name = "1.0 does not expect anything else either",
       .text = old("Expect: 200-ok\r\n"),
       .version = 10,
       .keep_alive = false},
      {.name = "1.0 expects nothing",
       .text = old("Expect: 100-continue\r\n"),
       .version = 10,
       .keep_alive = false},
      {.name = "upgrade is ignored",
       .text =
           post("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMA\r\n")},
  });
}

TEST(RequestHead, TargetsAreTakenApart) {
  const struct {
    string_view target;
    string_view path;
    string_view query;
  } cases[] = {{"/health", "/health", ""},
               {"/health?", "/health", ""},
               {"/health?a=b&c=/x", "/health", "a=b&c=/x"},
               {"/a?b?c", "/a", "b?c"},
               {"/a#b?c", "/a", ""},
               {"/a?b#c", "/a", "b"},
               {"http://other:1/health", "/health", ""},
               {"HTTPS://other/health?q", "/health", "q"},
               {"http://other", "/", ""},
               {"/%68ealth", "/%68ealth", ""},
               {"//health", "//health", ""},
               {"/v1/../health", "/v1/../health", ""},
               {"/health/", "/health/", ""},
               {"/HEALTH;x", "/HEALTH;x", ""},
               {"*", "*", ""}};
  for (const auto& c : cases) {
    RequestHead head;
    head.text = "GET " + string(c.target) + " HTTP/1.1\r\nHost: x\r\n\r\n";
    ASSERT_TRUE(parse_request_head(head)) << c.target;
    EXPECT_EQ(head.path, c.path) << c.target;
    EXPECT_EQ(head.query, c.query) << c.target;
  }
}

TEST(RequestHead, MethodsAreCaseSensitiveNames) {
  const struct {
    string_view word;
    Method method;
  } cases[] = {{"GET", Method::Get},         {"HEAD", Method::Head},   {"POST", Method::Post},
               {"PUT", Method::Put},         {"PATCH", Method::Patch}, {"DELETE", Method::Delete},
               {"OPTIONS", Method::Options}, {"BREW", Method::Other},  {"get", Method::Other},
               {"CONNECT", Method::Other}};
  for (const auto& c : cases) {
    RequestHead head;
    head.text = string(c.word) + " / HTTP/1.1\r\nHost: x\r\n\r\n";
    ASSERT_TRUE(parse_request_head(head)) << c.word;
    EXPECT_EQ(head.method, c.method) << c.word;
    EXPECT_EQ(name(head.method), c.method == Method::Other ? "OTHER" : c.word);
  }
}

TEST(RequestHead, FieldsKeepOrderCaseAndRepetitions) {
  RequestHead head;
  head.text = "GET / HTTP/1.1\r\nHost: x\r\nX-B:  two words \r\nx-b:one\r\nX-C:\r\n\r\n";
  ASSERT_TRUE(parse_request_head(head));
  ASSERT_EQ(head.fields.size(), 4U);
  EXPECT_EQ(head.fields[1].name, "X-B");
  EXPECT_EQ(head.fields[1].value, "two words");
  EXPECT_EQ(head.fields[2].name, "x-b");
  EXPECT_EQ(head.fields[2].value, "one");
  EXPECT_EQ(head.fields[3].value, "");
  EXPECT_EQ(head.value("x-B"), "two words");
  EXPECT_EQ(head.find("x-d"), nullptr);
  EXPECT_EQ(head.value("x-d"), "");
}

TEST(RequestHead, ValidHostsOfAllKindsAreAccepted) {
  for (const string_view host :
       {"x", "x:80", "10.0.0.1:30000", "[::1]", "[::1]:80", "", "a-b_c.d"}) {
    EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: " + string(host) + "\r\n\r\n"), 200) << host;
  }
  EXPECT_EQ(status_of("GET / HTTP/1.0\r\n\r\n"), 200) << "HTTP/1.0 knows no Host";
}

TEST(RequestHead, IsFilledAnewByEveryParse) {
  RequestHead head;
  head.text =
      post("Content-Length: 5\r\nExpect: 100-continue\r\nExpect: b\r\nConnection: close\r\n");
  ASSERT_TRUE(parse_request_head(head));
  head.text = "GET /a?b HTTP/1.1\r\nHost: x\r\n\r\n";
  ASSERT_TRUE(parse_request_head(head));
  EXPECT_EQ(head.fields.size(), 1U);
  EXPECT_EQ(head.content_length, std::nullopt);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_FALSE(head.expects_continue);
  EXPECT_FALSE(head.expects_unknown);
  head.text = post("Transfer-Encoding: chunked\r\n");
  ASSERT_TRUE(parse_request_head(head));
  EXPECT_EQ(head.query, "");
  head.text = post("");
  ASSERT_TRUE(parse_request_head(head));
  EXPECT_FALSE(head.chunked);
}

// ---- responses ----------------------------------------------------------------------------------

struct Answer {
  string_view name;
  string text;
  int status = 200;
  BodyLength::Kind kind = BodyLength::Kind::None;
  std::uint64_t bytes = 0;
  bool keep_alive = true;
  int version = 11;
  bool to_head = false;
};

string ok(string_view lines) {
  return "HTTP/1.1 200 OK\r\n" + string(lines) + "\r\n";
}

TEST(ResponseHead, FramingIsRead) {
  using Kind = BodyLength::Kind;
  const std::vector<Answer> cases = {
      {.name = "length", .text = ok("Content-Length: 5\r\n"), .kind = Kind::Known, .bytes = 5},
      {.name = "zero", .text = ok("Content-Length: 0\r\n"), .kind = Kind::Known},
      {.name = "equal lengths",
       .text = ok("Content-Length: 5\r\nContent-Length: 5\r\n"),
       .kind = Kind::Known,
       .bytes = 5},
      {.name = "chunked", .text = ok("Transfer-Encoding: Chunked\r\n"), .kind = Kind::Chunked},
      {.name = "chunked beats length",
       .text = ok("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"),
       .kind = Kind::Chunked,
       .keep_alive = false},
      {.name = "until close", .text = ok(""), .kind = Kind::UntilClose, .keep_alive = false},
      {.name = "close",
       .text = ok("Content-Length: 1\r\nConnection: foo, Close\r\n"),
       .kind = Kind::Known,
       .bytes = 1,
       .keep_alive = false},
      {.name = "204",
       .text = "HTTP/1.1 204 No Content\r\nContent-Length: 9\r\n\r\n",
       .status = 204},
      {.name = "304",
       .text = "HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
       .status = 304},
      {.name = "304 chunked",
       .text = "HTTP/1.1 304 X\r\nTransfer-Encoding: chunked\r\n\r\n",
       .status = 304},
      {.name = "100", .text = "HTTP/1.1 100 Continue\r\n\r\n", .status = 100},
      {.name = "103", .text = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", .status = 103},
      {.name = "to HEAD", .text = ok("Content-Length: 5\r\n"), .to_head = true},
      {.name = "no reason",
       .text = "HTTP/1.1 429\r\nContent-Length: 0\r\n\r\n",
       .status = 429,
       .kind = Kind::Known},
      {.name = "empty reason",
       .text = "HTTP/1.1 599 \r\nContent-Length: 0\r\n\r\n",
       .status = 599,
       .kind = Kind::Known},
      {.name = "1.0",
       .text = "HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\n",
       .kind = Kind::Known,
       .bytes = 5,
       .keep_alive = false,
       .version = 10},
      {.name = "1.0 keep-alive",
       .text = "HTTP/1.0 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive\r\n\r\n",
       .kind = Kind::Known,
       .bytes = 5,
       .version = 10},
      {.name = "1.0 until close",
       .text = "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n",
       .kind = Kind::UntilClose,
       .keep_alive = false,
       .version = 10},
      {.name = "bare LF",
       .text = "HTTP/1.1 200 OK\nContent-Length: 3\n\n",
       .kind = Kind::Known,
       .bytes = 3},
  };
  for (const auto& c : cases) {
    ResponseHead head;
    head.text = c.text;
    const auto parsed = parse_response_head(head, c.to_head);
    ASSERT_TRUE(parsed) << c.name << ": " << parsed.error().message;
    EXPECT_EQ(head.status, c.status) << c.name;
    EXPECT_EQ(head.version, c.version) << c.name;
    EXPECT_EQ(head.length.kind, c.kind) << c.name;
    EXPECT_EQ(head.length.bytes, c.bytes) << c.name;
    EXPECT_EQ(head.keep_alive, c.keep_alive) << c.name;
  }
}

TEST(ResponseHead, MalformedOnesAreTheWorkersFault) {
  const std::vector<string> cases = {
      "\r\n",
      "garbage\r\n\r\n",
      "HTTP/2 200\r\n\r\n",
      "HTTP/2.0 200 OK\r\n\r\n",
      "HTTP/1.x 200 OK\r\n\r\n",
      "http/1.1 200 OK\r\n\r\n",
      "HTTP/1.1 20\r\n\r\n",
      "HTTP/1.1 2000 OK\r\n\r\n",
      "HTTP/1.1 20x OK\r\n\r\n",
      "HTTP/1.1 +20 OK\r\n\r\n",
      "HTTP/1.1 099 OK\r\n\r\n",
      "HTTP/1.1  200 OK\r\n\r\n",
      "HTTP/1.1\t200 OK\r\n\r\n",
      ok("Content-Length: 5\r\nContent-Length: 6\r\n"),
      ok("Content-Length: abc\r\n"),
      ok("Content-Length: -1\r\n"),
      ok("Transfer-Encoding: gzip, chunked\r\n"),
      ok("Transfer-Encoding: identity\r\n"),
      ok("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
      ok("Bad Name: x\r\n"),
      ok("X-A: a\0b\r\n"s),
      ok("X-A: a\rb\r\n"),
      ok("no colon\r\n"),
      ok("X-A: a\r\n folded\r\n"),
  };
  for (const auto& text : cases) {
    ResponseHead head;
    head.text = text;
    const auto parsed = parse_response_head(head, false);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::UpstreamConnect) << text;
    EXPECT_EQ(parsed.error().status(), 502) << text;
  }
}

TEST(ResponseHead, LargeHeadsOfWorkersAreRead) {
  ResponseHead head;
  head.text = ok("X-Large: " + string(13000, 'a') + "\r\nContent-Length: 0\r\n");
  ASSERT_TRUE(parse_response_head(head, false));
  EXPECT_EQ(head.find("x-large")->value.size(), 13000U);
}

// ---- small things of messages -------------------------------------------------------------------

TEST(Message, MediaTypesAreComparedWithoutCaseAndParameters) {
  EXPECT_TRUE(has_media_type("text/event-stream", "text/event-stream"));
  EXPECT_TRUE(has_media_type("Text/Event-Stream ; charset=utf-8", "text/event-stream"));
  EXPECT_FALSE(has_media_type("text/event-streams", "text/event-stream"));
  EXPECT_FALSE(has_media_type("", "text/event-stream"));
  EXPECT_FALSE(has_media_type("application/json; x=text/event-stream", "text/event-stream"));
}

TEST(Message, BodilessStatuses) {
  for (const int status : {100, 101, 199, 204, 304}) EXPECT_TRUE(is_bodiless(status)) << status;
  for (const int status : {200, 203, 205, 303, 305, 404})
    EXPECT_FALSE(is_bodiless(status)) << status;
}

TEST(Message, EveryStatusHasAReason) {
  EXPECT_EQ(reason_phrase(408), "Request Timeout");
  EXPECT_EQ(reason_phrase(413), "Payload Too Large");
  EXPECT_EQ(reason_phrase(999), "Unknown");
  for (int status = 100; status < 600; ++status) EXPECT_FALSE(reason_phrase(status).empty());
}

}  // namespace
}  // namespace smg::http
