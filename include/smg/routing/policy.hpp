#pragma once

#include <memory>
#include <span>
#include <string_view>

#include <smg/routing/worker.hpp>

namespace smg::routing {

/// What a policy may look at besides the workers. Views of the request at hand.
struct RoutingRequest {
  std::string_view model;  ///< canonical id; empty: any
};

/// Picks one of several workers that could all take a request. Thread-safe: one instance serves a model
/// on all io threads, and keeps its state over changes of the fleet.
class Policy {
 public:
  virtual ~Policy() = default;

  /// One of `eligible`, which is in registration order and not empty; nullptr: none of them will do.
  [[nodiscard]] virtual Worker* pick(std::span<Worker* const> eligible,
                                     const RoutingRequest& request) = 0;

  /// As in --policy and in the label of metrics.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  /// It routes on the prompt, so that something must read the body (rule 2 of the page).
  [[nodiscard]] virtual bool reads_prompt() const noexcept { return false; }
};

/// The policy of a --policy name or of a worker's `policy` label: case and underscores are ignored.
/// nullptr for a name that is not known.
[[nodiscard]] std::unique_ptr<Policy> make_policy(std::string_view name);

}  // namespace smg::routing
