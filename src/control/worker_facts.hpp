#pragma once

#include <string>
#include <vector>

#include "control/worker_metadata.hpp"
#include "control/worker_spec.hpp"
#include <smg/config/gateway_config.hpp>
#include <smg/routing/worker.hpp>
#include <smg/upstream/host_pool.hpp>

namespace smg::control {

/// The models of a worker with all that is known of them: those of the spec, or else those found,
/// the main one first; never empty (policies_and_workers 5.4). The main one is named by the labels
/// served_model_name, model_id or model_path, or is "unknown"; a pod may rename it. --model-alias
/// adds its names.
[[nodiscard]] std::vector<ModelCard> model_cards(const WorkerSpec& spec,
                                                 const DiscoveredWorker& discovered,
                                                 const config::Fleet& flags);

/// A worker's facts: the spec over what it says of itself over the flags.
[[nodiscard]] routing::WorkerFacts worker_facts(const std::string& id, const WorkerSpec& spec,
                                                const DiscoveredWorker& discovered,
                                                const config::GatewayConfig& config);

/// How many workers an engine makes: as many as it reports data-parallel ranks, with --dp-aware;
/// else one.
[[nodiscard]] std::uint32_t rank_count(const DiscoveredWorker& discovered,
                                       const config::Fleet& flags);

/// Makes the facts of an engine those of one of its ranks, under an id of its own.
void become_rank(routing::WorkerFacts& facts, std::string id, std::uint32_t rank,
                 std::uint32_t ranks);

/// The flags with a spec's `health` over them.
[[nodiscard]] config::Health health_settings(const WorkerSpec& spec, const config::Health& flags);

/// The key that a worker is shown: its own, or else the gateway's (ruling 26); empty: none.
[[nodiscard]] const std::string& key_for(const WorkerSpec& spec, const config::Access& access);

[[nodiscard]] upstream::Origin origin_of(const config::WorkerUrl& url);

/// The flags with a spec's `http_pool` over them.
[[nodiscard]] upstream::PoolSettings pool_settings(const WorkerSpec& spec,
                                                   const config::Upstream& flags);

}  // namespace smg::control
