#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <smg/routing/selection.hpp>

namespace smg::routing {

/// The workers of a pool that may be chosen now.
struct Candidates {
  std::vector<Worker*> eligible;
  /// Until the next load report of one that is left out for its load alone; none: nobody is.
  std::optional<std::chrono::seconds> relief;
};

/// Those that are healthy, with a breaker that permits, and not overloaded by their own report.
[[nodiscard]] Candidates find_candidates(std::span<Worker* const> workers, TimePoint now);

/// Lets the pool's policy choose until a breaker admits its choice; nullptr: none does. Those with
/// a serial in `avoid` are kept back, unless nobody else is left (ruling 16). `request` has its
/// pool and time.
[[nodiscard]] std::unique_ptr<Selection> admit_one(const WorkerTable& table,
                                                   std::vector<Worker*> eligible,
                                                   std::span<const std::uint32_t> avoid,
                                                   RoutingRequest request);

/// Whole seconds, at least 1, until the state of some worker can change: its breaker, or at its
/// next health check. Of nobody: 1, as one may be registered at any time.
[[nodiscard]] int seconds_until_change(std::span<Worker* const> workers, TimePoint now);

/// WorkersOverloaded, for a model by its canonical id.
[[nodiscard]] GatewayError all_overloaded(const std::string& model, std::chrono::seconds relief);

}  // namespace smg::routing
