#include "gateway/request_tracing.hpp"

namespace smg::gateway {

observability::RequestTracePtr start_trace(const http::RequestHead& head,
                                           std::chrono::steady_clock::time_point started) {
  std::string_view parent;
  std::size_t parents = 0;
  std::string state;
  for (const auto& [name, value] : head.fields) {
    if (text::equals_ignoring_case(name, "traceparent")) {
      parent = value;
      ++parents;
    } else if (text::equals_ignoring_case(name, "tracestate") && !value.empty()) {
      if (!state.empty()) state += ',';
      state += value;
    }
  }
  if (parents != 1) parent = {};
  auto trace = std::make_unique<observability::RequestTrace>(parent, std::move(state), started);
  trace->path = observability::traced_path(head.path);
  trace->http_version = head.version;
  return trace;
}

void trace_relay(observability::RequestTrace& trace, const relay::RequestContext& context,
                 const std::optional<GatewayError>& error) {
  trace.model = context.model;
  trace.body_path = relay::name_of(context.path);
  if (error) trace.outcome.fail_with(error->code);
}

}  // namespace smg::gateway
