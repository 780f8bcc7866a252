#include "gateway/request_tracing.hpp"

#include <gtest/gtest.h>

namespace smg::gateway {
namespace {

constexpr std::string_view kParent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
constexpr std::string_view kOther = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b8-01";

struct Case {
  http::Fields fields;
  observability::SpanId parent;
  std::string_view state;
};

TEST(StartTrace, ReadsTheClientsPlaceInATrace) {
  const Case kCases[] = {
      {{}, 0, ""},
      {{{"TraceParent", kParent}}, 0x00f067aa0ba902b7, ""},
      {{{"tracestate", "a=b"}, {"traceparent", kParent}}, 0x00f067aa0ba902b7, "a=b"},
      {{{"traceparent", kParent}, {"tracestate", "a=b,c=d"}, {"TraceState", "e=f"}},
       0x00f067aa0ba902b7,
       "a=b,c=d,e=f"},
      {{{"traceparent", kParent}, {"tracestate", ""}, {"tracestate", "e=f"}, {"tracestate", ""}},
       0x00f067aa0ba902b7,
       "e=f"},
      {{{"traceparent", kParent}, {"tracestate", "a=b"}, {"tracestate", "broken"}},
       0x00f067aa0ba902b7,
       ""},
      {{{"traceparent", kParent}, {"traceparent", kOther}, {"tracestate", "a=b"}}, 0, ""},
      {{{"traceparent", kParent}, {"traceparent", kParent}}, 0, ""},
      {{{"traceparent", "nonsense"}, {"tracestate", "a=b"}}, 0, ""},
      {{{"tracestate", "a=b"}}, 0, ""},
  };
  for (const auto& test : kCases) {
    http::RequestHead head;
    head.fields = test.fields;
    head.path = "/workers/a b";
    head.version = 20;
    const auto trace = start_trace(head, std::chrono::steady_clock::now());
    EXPECT_EQ(trace->parent, test.parent);
    EXPECT_EQ(trace->tracestate, test.state);
    EXPECT_TRUE(trace->context.sampled());
    EXPECT_EQ(trace->path, "/workers/a%20b");
    EXPECT_EQ(trace->http_version, 20);
  }
}

}  // namespace
}  // namespace smg::gateway
