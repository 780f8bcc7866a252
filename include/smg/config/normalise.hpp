#pragma once

#include <smg/config/gateway_config.hpp>

namespace smg::config {

/// Brings values that have several spellings into one: addresses without brackets, worker URLs as
/// in ruling 20 and each only once, header names in lower case. Settles what follows other settings
/// unless it is set. Invalid values stay as they are, for validate() to name; only those of
/// breakers that are switched off, which it does not look at, become the next valid ones.
void normalise(GatewayConfig& config);

}  // namespace smg::config
