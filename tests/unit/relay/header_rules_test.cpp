#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <smg/relay/header_rules.hpp>

namespace smg::relay {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;

Lines lines_of(const http::Fields& fields) {
  Lines lines;
  for (const auto& [name, value] : fields) lines.emplace_back(name, value);
  return lines;
}

/// The lines behind the gateway's own two of the client's request.
Lines passed_on(const http::Fields& fields, const WorkerCredential& credential = {},
                const std::vector<std::string>& further = {}, bool keep_coding = false,
                const RequestId& id = {"a", false}) {
  http::RequestHead head;
  head.fields = fields;
  Lines lines = lines_of(upstream_fields(head, id, credential, further, keep_coding));
  EXPECT_GE(lines.size(), 2U);
  EXPECT_EQ(lines[0], (Lines::value_type{"content-type", "application/json"}));
  EXPECT_EQ(lines[1], (Lines::value_type{"accept", "*/*"}));
  lines.erase(lines.begin(), lines.begin() + 2);
  return lines;
}

// ---- to the worker ------------------------------------------------------------------------------

TEST(UpstreamFields, TheListIsPassedOnWithAllItsValues) {
  const http::Fields fields{
      {"X-Request-ID", "a"},      {"x-request-id", "b"},     {"X-Request-Id-2", "c"},
      {"x-request-id-", "d"},     {"x-correlation-id", "e"}, {"traceparent", "f"},
      {"TraceState", "g"},        {"tracestate", "h"},       {"x-smg-routing-key", "i"},
      {"anthropic-version", "j"}, {"Anthropic-Beta", "k"},   {"anthropic-beta", "l"}};
  EXPECT_EQ(passed_on(fields), lines_of(fields));
}

TEST(UpstreamFields, EverythingElseIsDropped) {
  for (const std::string_view name : {"cookie",
                                      "user-agent",
                                      "x-api-key",
                                      "x-forwarded-for",
                                      "x-forwarded-proto",
                                      "forwarded",
                                      "via",
                                      "origin",
                                      "referer",
                                      "expect",
                                      "accept",
                                      "accept-encoding",
                                      "content-encoding",
                                      "content-type",
                                      "content-length",
                                      "transfer-encoding",
                                      "host",
                                      "te",
                                      "trailer",
                                      "upgrade",
                                      "connection",
                                      "keep-alive",
                                      "proxy-authorization",
                                      "proxy-connection",
                                      "x-smg-routing-tokens",
                                      "x-smg-target-worker",
                                      "x-custom",
                                      "x-trace-id",
                                      "request-id",
                                      "x-request-idx",
                                      "xx-request-id",
                                      "x-request-i",
                                      "traceparents",
                                      "authorizatio"}) {
    EXPECT_EQ(passed_on({{name, "v"}}), Lines{}) << name;
  }
}

TEST(UpstreamFields, OnlyTheFirstCredentialIsPassedOn) {
  EXPECT_EQ(
      passed_on({{"Authorization", "Bearer a"}, {"authorization", "Bearer b"}}, {"Bearer own"}),
      (Lines{{"Authorization", "Bearer a"}}));
}

TEST(UpstreamFields, TheGatewaysCredentialTakesTheMissingOnesPlace) {
  EXPECT_EQ(passed_on({}, {"Bearer own"}), (Lines{{"authorization", "Bearer own"}}));
  EXPECT_EQ(passed_on({}), Lines{});
}

TEST(UpstreamFields, ACredentialForTheGatewayIsShownToNoWorker) {
  const http::Fields fields{
      {"Authorization", "Bearer a"}, {"X-Api-Key", "a"}, {"authorization", "Bearer b"}};
  EXPECT_EQ(passed_on(fields, {"Bearer own", true}, {"x-api-key"}),
            (Lines{{"authorization", "Bearer own"}}));
  EXPECT_EQ(passed_on(fields, {{}, true}, {"x-api-key"}), Lines{});
}

TEST(UpstreamFields, NamesOfConnectionAreForOneHopOnly) {
  EXPECT_EQ(passed_on({{"Connection", "close, X-Request-Id"},
                       {"x-request-id", "a"},
                       {"traceparent", "b"},
                       {"connection", "TraceState"},
                       {"tracestate", "c"}}),
            (Lines{{"traceparent", "b"}}));
  EXPECT_EQ(passed_on({{"x-extra", "a"}, {"connection", "x-extra"}}, {}, {"x-extra"}), Lines{});
}

TEST(UpstreamFields, TheWorkerKnowsTheRequestByTheIdOfTheClient) {
  const struct {
    std::string_view name;
    http::Fields fields;
    RequestId id;
    Lines expected;
  } cases[] = {
      {"nobody named it", {}, {"made", false}, {}},
      {"an id that cannot be one",
       {{"X-Request-Id", "caf\xe9"}},
       {"made", false},
       {{"X-Request-Id", "made"}}},
      {"cut off", {{"x-request-id", "long"}}, {"lo", true}, {{"x-request-id", "lo"}}},
      {"named in another field", {{"x-trace-id", "b"}}, {"b", true}, {{"x-request-id", "b"}}},
      {"named in two fields",
       {{"x-correlation-id", "b"}, {"x-request-id", "a"}},
       {"b", true},
       {{"x-correlation-id", "b"}, {"x-request-id", "b"}}},
      {"of further lines, those that can be ids",
       {{"x-request-id", "a"},
        {"x-request-id", "\xff"},
        {"x-request-id", ""},
        {"x-request-id", "c"}},
       {"a", true},
       {{"x-request-id", "a"}, {"x-request-id", "c"}}},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(passed_on(c.fields, {}, {}, false, c.id), c.expected) << c.name;
  }
}

TEST(UpstreamFields, FurtherNamesArePassedOnInAnyCase) {
  const http::Fields fields{{"X-Extra", "a"}, {"x-other", "b"}, {"x-extra", "c"}};
  EXPECT_EQ(passed_on(fields, {}, {"x-extra"}), (Lines{{"X-Extra", "a"}, {"x-extra", "c"}}));
}

TEST(UpstreamFields, TheBodysCodingIsKeptOnDemand) {
  const http::Fields fields{{"Content-Encoding", "gzip"}};
  EXPECT_EQ(passed_on(fields, {}, {}, true), lines_of(fields));
  EXPECT_EQ(passed_on(fields, {}, {}, false), Lines{});
}

TEST(UpstreamFields, ATraceOfOursTakesTheClientsPlace) {
  http::Fields fields{{"TraceParent", "a"}, {"x-a", "b"}, {"tracestate", "c"}, {"Tracestate", "d"}};
  set_trace_fields(fields, "parent", "state");
  EXPECT_EQ(lines_of(fields),
            (Lines{{"x-a", "b"}, {"traceparent", "parent"}, {"tracestate", "state"}}));
  set_trace_fields(fields, "other", "");
  EXPECT_EQ(lines_of(fields), (Lines{{"x-a", "b"}, {"traceparent", "other"}}));
}

// ---- to the client ------------------------------------------------------------------------------

constexpr RelayedBy kBy{"http://w:1", "req-1"};

const Lines kOwn = {{"x-smg-routed-worker-id", "http://w:1"},
                    {"x-request-id", "req-1"},
                    {"access-control-allow-origin", "*"},
                    {"access-control-expose-headers", "*"}};

/// The lines before the gateway's own four of the worker's response.
Lines relayed(const http::Fields& fields) {
  http::ResponseHead head;
  head.fields = fields;
  Lines lines = lines_of(client_fields(head, kBy));
  const auto own = lines.end() - static_cast<std::ptrdiff_t>(kOwn.size());
  EXPECT_EQ(Lines(own, lines.end()), kOwn);
  lines.erase(own, lines.end());
  return lines;
}

TEST(ClientFields, EndToEndLinesPassInOrderWithTheirRepetitions) {
  const http::Fields fields{{"Date", "d"},          {"Server", "s"},
                            {"Set-Cookie", "a=1"},  {"Content-Type", "text/event-stream"},
                            {"set-cookie", "b=2"},  {"Content-Encoding", "gzip"},
                            {"Retry-After", "3"},   {"X-Foo", ""},
                            {"Set-Cookie", "a=1"},  {"cache-control", "no-cache"},
                            {"Vary", "a"},          {"vary", "b"},
                            {"Content-Range", "x"}, {"accept-ranges", "none"}};
  EXPECT_EQ(relayed(fields), lines_of(fields));
}

TEST(ClientFields, FramingHopByHopAndTheGatewaysOwnNamesAreRemoved) {
  for (const std::string_view name : {"Connection",
                                      "Keep-Alive",
                                      "Proxy-Authenticate",
                                      "Proxy-Authorization",
                                      "Proxy-Connection",
                                      "TE",
                                      "Trailer",
                                      "Trailers",
                                      "Transfer-Encoding",
                                      "Upgrade",
                                      "Content-Length",
                                      "Host",
                                      "X-SMG-Error-Code",
                                      "x-smg-error-code",
                                      "X-Request-Id",
                                      "X-SMG-Routed-Worker-Id",
                                      "Access-Control-Allow-Origin",
                                      "Access-Control-Expose-Headers",
                                      "access-control-allow-credentials",
                                      "Access-Control-Max-Age"}) {
    EXPECT_EQ(relayed({{name, "v"}, {name, "w"}, {"x-a", "b"}}), (Lines{{"x-a", "b"}})) << name;
  }
}

TEST(ClientFields, NamesOfConnectionAreForOneHopOnly) {
  EXPECT_EQ(relayed({{"X-Hop", "a"},
                     {"Connection", "close, x-hop"},
                     {"x-stays", "b"},
                     {"x-second", "c"},
                     {"connection", "X-Second"}}),
            (Lines{{"x-stays", "b"}}));
}

TEST(ClientFields, AnEmptyHeadGetsTheGatewaysOwnLines) {
  EXPECT_EQ(relayed({}), Lines{});
}

TEST(GatewayFields, AreAppended) {
  http::Fields fields{{"a", "b"}};
  append_gateway_fields(fields, "id", {});
  EXPECT_EQ(lines_of(fields), (Lines{{"a", "b"},
                                     {"x-request-id", "id"},
                                     {"access-control-allow-origin", "*"},
                                     {"access-control-expose-headers", "*"}}));
}

TEST(GatewayFields, SayWhoMayReadThem) {
  http::Fields fields;
  append_gateway_fields(fields, "id", {"http://a", "x-request-id", true});
  EXPECT_EQ(lines_of(fields), (Lines{{"x-request-id", "id"},
                                     {"access-control-allow-origin", "http://a"},
                                     {"access-control-expose-headers", "x-request-id"},
                                     {"vary", "origin"}}));
  fields.clear();
  append_gateway_fields(fields, "id", {"", "", true});
  EXPECT_EQ(lines_of(fields), (Lines{{"x-request-id", "id"}, {"vary", "origin"}}));
}

}  // namespace
}  // namespace smg::relay
