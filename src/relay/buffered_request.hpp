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
  BufferedRequest(const Services& the_services, RequestContext& the_context,
                  const FleetView& the_fleet)
      : services(the_services),
        context(the_context),
        fleet(the_fleet),
        retries(the_services.config.retry.enabled()) {}

  const Services& services;
  RequestContext& context;
  const FleetView& fleet;
  const bool retries;
  BodyBuffer body;
  BodyFields fields;
  std::optional<std::string_view> model;  ///< canonical id, if the client used another name
  std::optional<RoutingInputs> inputs;

  [[nodiscard]] net::IoThread& thread() const noexcept { return context.client.thread(); }
  /// The fleet as it is now: nothing of it may be kept over a wait.
  [[nodiscard]] const routing::WorkerTable& table() const noexcept { return *fleet.on(thread()); }
};

}  // namespace smg::relay
