#include "smg/observability/request_trace.hpp"

namespace smg::observability {
namespace {

constexpr std::size_t kMaxPathLength = 512;

}  // namespace

void SpanOutcome::fail_with(ErrorCode code) noexcept {
  const ErrorRow& facts = row(code);
  error = facts.wire_code.empty() ? facts.error_type : facts.wire_code;
  failed = facts.fault != Fault::Client;
}

RequestTrace::RequestTrace(std::string_view traceparent, std::string state,
                           std::chrono::steady_clock::time_point started)
    : began(started), ended(started) {
  const auto now = std::chrono::steady_clock::now();
  wall_began = std::chrono::system_clock::now() -
               std::chrono::duration_cast<std::chrono::system_clock::duration>(now - started);
  context.span = make_span_id();
  if (const auto client = parse_traceparent(traceparent)) {
    context.trace = client->trace;
    context.flags = client->flags;
    parent = client->span;
    // The state belongs to the trace that it came with, and one that breaks the standard to none.
    if (is_tracestate(state)) tracestate = std::move(state);
  } else {
    context.trace = make_trace_id();
    context.flags = TraceContext::kSampled;
  }
}

std::chrono::system_clock::time_point RequestTrace::wall_time(
    std::chrono::steady_clock::time_point point) const noexcept {
  return wall_began +
         std::chrono::duration_cast<std::chrono::system_clock::duration>(point - began);
}

void AttemptTrace::begin(RequestTrace& trace, std::string_view worker_url, std::string_view host,
                         std::uint16_t port) {
  AttemptSpan span{.id = make_span_id(),
                   .began = std::chrono::steady_clock::now(),
                   .worker_url = std::string(worker_url),
                   .host = std::string(host),
                   .port = port};
  span.ended = span.began;
  trace.attempts.push_back(std::move(span));
  index_ = trace.attempts.size() - 1;
  trace_ = &trace;
}

TraceParentText AttemptTrace::next_send() noexcept {
  span().resends = trace_->sends++;
  return format_traceparent({trace_->context.trace, span().id, trace_->context.flags});
}

std::string traced_path(std::string_view path) {
  std::string traced;
  for (const char c : path.substr(0, kMaxPathLength)) {
    if (c > ' ' && c <= '~') {
      traced += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    traced += '%';
    traced += "0123456789ABCDEF"[byte >> 4];
    traced += "0123456789ABCDEF"[byte & 0xF];
  }
  return traced;
}

}  // namespace smg::observability
