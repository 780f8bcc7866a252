#pragma once

#include "relay/services.hpp"
#include <smg/relay/inference_relay.hpp>
#include <smg/routing/selection.hpp>

namespace smg::relay {

/// Relays a request whose body streams: one attempt, on a worker that was chosen from the head
/// alone.
[[nodiscard]] net::Task<Result<>> run_streamed(Services services, RequestContext& request,
                                               std::unique_ptr<routing::Selection> selection);

}  // namespace smg::relay
