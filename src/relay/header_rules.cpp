#include <smg/base/text.hpp>
#include <smg/observability/request_id.hpp>
#include <smg/relay/header_rules.hpp>

namespace smg::relay {
namespace {

using std::string_view;
using text::equals_ignoring_case;

enum class Passing : std::uint8_t { Dropped, Passed, FirstLineOnly, Id };

/// The allow-list of request fields, told apart by length first.
Passing request_rule(string_view name) noexcept {
  switch (name.size()) {
    case 10: return equals_ignoring_case(name, "tracestate") ? Passing::Passed : Passing::Dropped;
    case 11: return equals_ignoring_case(name, "traceparent") ? Passing::Passed : Passing::Dropped;
    case 12: return equals_ignoring_case(name, "x-request-id") ? Passing::Id : Passing::Dropped;
    case 13:
      if (equals_ignoring_case(name, "authorization")) return Passing::FirstLineOnly;
      break;
    default: break;
  }
  const bool passed = text::starts_with_ignoring_case(name, "x-request-id-") ||
                      equals_ignoring_case(name, "x-correlation-id") ||
                      equals_ignoring_case(name, "x-smg-routing-key") ||
                      equals_ignoring_case(name, "anthropic-version") ||
                      equals_ignoring_case(name, "anthropic-beta");
  return passed ? Passing::Passed : Passing::Dropped;
}

/// The fields in which the gateway takes a client's key (ruling 26).
bool is_credential(string_view name) noexcept {
  return equals_ignoring_case(name, "authorization") || equals_ignoring_case(name, "x-api-key");
}

bool is_id(string_view value) noexcept {
  return observability::acceptable_request_id(value) &&
         value.size() <= observability::kMaxRequestIdLength;
}

bool is_any_of(string_view name, std::span<const string_view> names) noexcept {
  for (const string_view other : names) {
    if (equals_ignoring_case(name, other)) return true;
  }
  return false;
}

/// Framing and hop-by-hop fields of RFC 9110 7.6.1, and what the gateway itself puts in their
/// place.
bool is_kept_from_client(string_view name) noexcept {
  constexpr string_view kNames[] = {"connection",
                                    "keep-alive",
                                    "proxy-authenticate",
                                    "proxy-authorization",
                                    "proxy-connection",
                                    "te",
                                    "trailer",
                                    "trailers",
                                    "transfer-encoding",
                                    "upgrade",
                                    "content-length",
                                    "host",
                                    "x-smg-error-code",
                                    "x-request-id",
                                    "x-smg-routed-worker-id"};
  switch (name.empty() ? '\0' : text::lower(name.front())) {
    case 'a': return text::starts_with_ignoring_case(name, "access-control-");
    case 'c':
    case 'h':
    case 'k':
    case 'p':
    case 't':
    case 'u':
    case 'x': return is_any_of(name, kNames);
    default: return false;
  }
}

/// Whether some Connection field names this one as meant for one hop only.
bool is_named_by_connection(const http::Fields& fields, string_view name) noexcept {
  for (const auto& [other, value] : fields) {
    if (equals_ignoring_case(other, "connection") && text::list_has(value, name)) return true;
  }
  return false;
}

}  // namespace

http::Fields upstream_fields(const http::RequestHead& client, const RequestId& id,
                             const WorkerCredential& credential,
                             std::span<const std::string> further, bool keep_content_encoding) {
  http::Fields fields;
  fields.reserve(8);
  fields.push_back({"content-type", "application/json"});
  fields.push_back({"accept", "*/*"});
  const bool has_connection = client.find("connection") != nullptr;
  bool authorized = false;
  bool named = false;
  for (const auto& field : client.fields) {
    Passing rule = request_rule(field.name);
    if (rule == Passing::Dropped) {
      const bool coding =
          keep_content_encoding && equals_ignoring_case(field.name, "content-encoding");
      const bool listed = std::any_of(further.begin(), further.end(), [&](const std::string& name) {
        return equals_ignoring_case(field.name, name);
      });
      if (!coding && !listed) continue;
    }
    if (has_connection && is_named_by_connection(client.fields, field.name)) continue;
    if (credential.hides_clients && is_credential(field.name)) continue;
    if (rule == Passing::FirstLineOnly && std::exchange(authorized, true)) continue;
    if (rule == Passing::Id && !std::exchange(named, true)) {
      fields.push_back({field.name, id.text});
    } else if (rule != Passing::Id || is_id(field.value)) {
      fields.push_back(field);
    }
  }
  if (!named && id.from_client) fields.push_back({"x-request-id", id.text});
  if (!authorized && !credential.authorization.empty()) {
    fields.push_back({"authorization", credential.authorization});
  }
  return fields;
}

void set_trace_fields(http::Fields& fields, string_view traceparent, string_view tracestate) {
  std::erase_if(fields, [](const http::Field& field) {
    return equals_ignoring_case(field.name, "traceparent") ||
           equals_ignoring_case(field.name, "tracestate");
  });
  fields.push_back({"traceparent", traceparent});
  if (!tracestate.empty()) fields.push_back({"tracestate", tracestate});
}

http::Fields client_fields(const http::ResponseHead& worker, const RelayedBy& relayed_by) {
  http::Fields fields;
  fields.reserve(worker.fields.size() + 4);
  const bool has_connection = worker.find("connection") != nullptr;
  for (const auto& field : worker.fields) {
    if (is_kept_from_client(field.name)) continue;
    if (has_connection && is_named_by_connection(worker.fields, field.name)) continue;
    fields.push_back(field);
  }
  fields.push_back({"x-smg-routed-worker-id", relayed_by.worker_url});
  append_gateway_fields(fields, relayed_by.request_id, relayed_by.cors);
  return fields;
}

void drop_body_digests(http::Fields& fields) {
  std::erase_if(fields, [](const http::Field& field) {
    for (const std::string_view name : {"etag", "digest", "content-md5", "accept-ranges"}) {
      if (text::equals_ignoring_case(field.name, name)) return true;
    }
    return false;
  });
}

void append_gateway_fields(http::Fields& fields, string_view request_id, const CorsAnswer& cors) {
  fields.push_back({"x-request-id", request_id});
  if (!cors.allow_origin.empty()) {
    fields.push_back({"access-control-allow-origin", cors.allow_origin});
    fields.push_back({"access-control-expose-headers", cors.expose_headers});
  }
  if (cors.varies) fields.push_back({"vary", "origin"});
}

}  // namespace smg::relay
