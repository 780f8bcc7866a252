#pragma once

#include <optional>

#include "relay/routing_inputs.hpp"
#include "relay/services.hpp"
#include <smg/relay/inference_relay.hpp>
#include <smg/relay/request_body.hpp>

namespace smg::relay {

/// From this size on a body is sent once and freed behind its upload: it cannot be resent at this
/// layer (the page, "Early release" and "Resending Pre-Response Failures").
inline constexpr std::uint64_t kOneShotBytes = 1024 * 1024;

/// A request whose body has been read whole, on its way to its workers.
struct BufferedRequest {
  BufferedRequest(const Services& the_services, RequestContext& the_context)
      : services(the_services),
        context(the_context),
        retries(the_services.config.retry.enabled()) {}

  const Services& services;
  RequestContext& context;
  const bool retries;
  routing::WorkerTablePtr table;  ///< as it is once the body is there
  BodyBuffer body;
  BodyFields fields;
  std::optional<std::string_view> model;  ///< canonical id, if the client used another name
  std::optional<RoutingInputs> inputs;

  [[nodiscard]] net::IoThread& thread() const noexcept { return context.client.thread(); }
};

}  // namespace smg::relay
