#pragma once

#include "relay/services.hpp"
#include <smg/relay/inference_relay.hpp>
#include <smg/routing/worker_table.hpp>

namespace smg::relay {

/// Relays a request whose body is read whole: validated, edited in place, and sent as often as the
/// retry settings allow.
[[nodiscard]] net::Task<Result<>> run_buffered(Services services, RequestContext& context,
                                               const FleetView& fleet);

}  // namespace smg::relay
