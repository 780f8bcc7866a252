#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <smg/base/error.hpp>
#include <smg/observability/trace_context.hpp>

namespace smg::observability {

/// How a span ended.
struct SpanOutcome {
  int status = 0;            ///< of the HTTP response; 0: there was none
  std::string_view error{};  ///< a code of the gateway's own, from the error table; empty: none
  bool failed = false;       ///< by somebody else's fault than the client's

  /// The client's faults, its leaving among them, are named but are no failure.
  void fail_with(ErrorCode code) noexcept;
};

/// One dispatch to a worker, as a span of kind CLIENT.
struct AttemptSpan {
  SpanId id = 0;
  std::chrono::steady_clock::time_point began{};
  std::chrono::steady_clock::time_point ended{};
  std::string worker_url;
  std::string host;
  std::uint16_t port = 0;
  std::uint32_t resends = 0;  ///< how often this request had been sent before
  SpanOutcome outcome{};
};

/// What is told of one request: its own span, of kind SERVER, and those of its attempts. Nothing
/// here comes out of a body, a query or a credential. Belongs to the request's thread until it is
/// handed to whoever exports it. The views are of constants.
struct RequestTrace {
  /// Continues the trace of a client, or begins one where there is none. A client that does not
  /// record its spans keeps this gateway from recording too, but not from passing its trace on.
  RequestTrace(std::string_view traceparent, std::string tracestate,
               std::chrono::steady_clock::time_point started);

  [[nodiscard]] std::size_t span_count() const noexcept { return 1 + attempts.size(); }
  /// The time of day of `point`.
  [[nodiscard]] std::chrono::system_clock::time_point wall_time(
      std::chrono::steady_clock::time_point point) const noexcept;

  TraceContext context;    ///< of the request's own span
  SpanId parent = 0;       ///< the client's span; 0: the trace begins here
  std::string tracestate;  ///< goes on as it came; empty with a trace of our own
  std::chrono::steady_clock::time_point began;
  std::chrono::steady_clock::time_point ended;
  std::chrono::system_clock::time_point wall_began;
  std::string_view method{};
  std::string_view route{};  ///< the path's template
  std::string path;          ///< without its query, what is no printable ASCII in percent-encoding
  std::string_view scheme{};
  int http_version = 11;  ///< 10, 11 or 20
  std::string request_id;
  std::uint64_t bytes_received = 0;
  std::uint64_t bytes_sent = 0;
  std::string model;             ///< a registered id; empty: unknown
  std::string_view body_path{};  ///< streamed or buffered; empty: not relayed
  std::uint32_t sends = 0;
  SpanOutcome outcome{};
  std::vector<AttemptSpan> attempts;
};

using RequestTracePtr = std::unique_ptr<RequestTrace>;

/// The span of a dispatch for as long as it runs. Without a trace nothing is done or paid for.
class AttemptTrace {
 public:
  AttemptTrace(RequestTrace* trace, std::string_view worker_url, std::string_view host,
               std::uint16_t port) {
    if (trace != nullptr) begin(*trace, worker_url, host, port);
  }
  ~AttemptTrace() {
    if (trace_ != nullptr && span().ended == span().began) end();
  }
  AttemptTrace(const AttemptTrace&) = delete;
  AttemptTrace& operator=(const AttemptTrace&) = delete;

  [[nodiscard]] bool on() const noexcept { return trace_ != nullptr; }

  /// For a dispatch that is over before its owner goes.
  void end() noexcept {
    if (trace_ != nullptr) span().ended = std::chrono::steady_clock::now();
  }
  void responded(int status) noexcept {
    if (trace_ != nullptr) span().outcome.status = status;
  }
  void failed(ErrorCode code) noexcept {
    if (trace_ != nullptr) span().outcome.fail_with(code);
  }

  /// The request goes out: the `traceparent` it carries. Only while `on`.
  [[nodiscard]] TraceParentText next_send() noexcept;
  [[nodiscard]] std::string_view tracestate() const noexcept { return trace_->tracestate; }

 private:
  void begin(RequestTrace& trace, std::string_view worker_url, std::string_view host,
             std::uint16_t port);
  [[nodiscard]] AttemptSpan& span() noexcept { return trace_->attempts[index_]; }

  RequestTrace* trace_ = nullptr;
  std::size_t index_ = 0;
};

/// A path as it may stand in a trace: cut after 512 bytes, what is no printable ASCII in
/// percent-encoding.
[[nodiscard]] std::string traced_path(std::string_view path);

}  // namespace smg::observability
