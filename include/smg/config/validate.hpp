#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <smg/config/gateway_config.hpp>

namespace smg::config {

/// Every problem of the settings, one line each, as `--flag: value - what it must be`, in the order
/// of --help; empty if they are sound. Looks at nothing but its arguments.
/// `built_in_workers`: workers that the program itself adds to `fleet.worker_urls`.
[[nodiscard]] std::vector<std::string> validate(const GatewayConfig& config,
                                                std::size_t built_in_workers = 0);

/// The problems of the flags that tune this policy alone: they matter where it is chosen, by
/// --policy or by a worker's label. The name may be in any case, with `_` or without.
[[nodiscard]] std::vector<std::string> tuning_problems(const GatewayConfig& config,
                                                       std::string_view policy);

}  // namespace smg::config
