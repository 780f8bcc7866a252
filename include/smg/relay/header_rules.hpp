#pragma once

#include <span>
#include <string>
#include <string_view>

#include <smg/http/message.hpp>
#include <smg/relay/cors.hpp>

namespace smg::relay {

/// What a worker is shown as Authorization (spec, shell 5.3).
struct WorkerCredential {
  std::string_view authorization{};  ///< takes the place of a missing client credential; or empty
  bool hides_clients = false;  ///< the client's credential is for the gateway, not for workers
};

/// A request's id as its client gets it back.
struct RequestId {
  std::string text;
  bool from_client = false;  ///< else it was made here
};

/// The fields of a request that goes to a worker (ruling 6): those of the client's that are on the
/// list below or on `further`, and the gateway's own. The views point into `client` and the
/// arguments.
///
/// Passed on: authorization (the first line), x-request-id and x-request-id-*, x-correlation-id,
/// traceparent, tracestate, x-smg-routing-key, anthropic-version, anthropic-beta. Where the client
/// names the request, in whichever field, the worker knows it by the same x-request-id as the
/// client: the first one is `id`, and values that cannot be ids are not passed on.
[[nodiscard]] http::Fields upstream_fields(const http::RequestHead& client, const RequestId& id,
                                           const WorkerCredential& credential,
                                           std::span<const std::string> further,
                                           bool keep_content_encoding);

/// Puts the gateway's own place in a trace where the client's was: the worker continues from there.
/// Without a `tracestate` there is none.
void set_trace_fields(http::Fields& fields, std::string_view traceparent,
                      std::string_view tracestate);

/// What of a response is the gateway's own.
struct RelayedBy {
  std::string_view worker_url;
  std::string_view request_id;
  CorsAnswer cors{};
};

/// The fields of a worker's response as they go to the client (ruling 7): all end-to-end lines in
/// order, without the framing, X-SMG-Error-Code and any CORS policy of its own, and with the
/// gateway's own behind them.
[[nodiscard]] http::Fields client_fields(const http::ResponseHead& worker,
                                         const RelayedBy& relayed_by);

/// Takes out the fields that speak of the worker's very bytes, and are wrong for a changed body.
void drop_body_digests(http::Fields& fields);

/// The fields that every response of the gateway to a client carries.
void append_gateway_fields(http::Fields& fields, std::string_view request_id,
                           const CorsAnswer& cors);

}  // namespace smg::relay
