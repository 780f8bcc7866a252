#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <smg/config/gateway_config.hpp>

namespace smg::config {

/// Every problem of the settings, one line each, as `--flag: value - what it must be`, in the order
/// of --help; empty if they are sound. Looks at nothing but its arguments.
/// `built_in_workers`: workers that the program itself adds to `fleet.worker_urls`.
[[nodiscard]] std::vector<std::string> validate(const GatewayConfig& config,
                                                std::size_t built_in_workers = 0);

}  // namespace smg::config
