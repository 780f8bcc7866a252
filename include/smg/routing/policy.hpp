#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <smg/base/result.hpp>
#include <smg/routing/policy_tallies.hpp>
#include <smg/routing/worker.hpp>

namespace smg::routing {

struct ModelPool;

/// What a policy may look at besides the workers. Views of the request at hand; header values as
/// sent.
struct RoutingRequest {
  std::string_view model{};          ///< canonical id; empty: any
  std::string_view routing_key{};    ///< x-smg-routing-key
  std::string_view target_worker{};  ///< x-smg-target-worker
  /// The body's `rid`, and the first header of --routing-key-headers with a valid key
  /// (`session_key`): filled under --routing-key-override only.
  std::string_view rid{};
  std::string_view session_header{};
  /// Without a value: the field is not there.
  std::optional<std::string_view> authorization{};
  std::optional<std::string_view> x_forwarded_for{};
  std::optional<std::string_view> cookie{};
  std::span<const std::uint32_t> tokens{};  ///< hinted, or of the body; then `text` does not count
  std::string_view text{};  ///< the prompt, UTF-8; empty also when nothing has read it
  TimePoint now{};          ///< set by select_worker
  /// Set by admit_one: eligible, but kept back, for the request has failed there.
  std::span<Worker* const> kept_back{};
  const ModelPool* pool = nullptr;  ///< set by select_worker
};

/// What a policy looks at of a prompt, if something has read the body.
struct PromptUse {
  static constexpr std::size_t kWhole = std::numeric_limits<std::size_t>::max();

  bool tokens = false;         ///< RoutingRequest::tokens
  std::size_t text_bytes = 0;  ///< of RoutingRequest::text, from its beginning

  /// What two policies look at together.
  [[nodiscard]] PromptUse and_of(const PromptUse& other) const noexcept {
    return {tokens || other.tokens, text_bytes > other.text_bytes ? text_bytes : other.text_bytes};
  }

  bool operator==(const PromptUse&) const = default;
};

/// How much a policy remembers, for the metrics; what it never remembers is not there.
struct PolicyMemory {
  struct Tree {
    std::uint64_t units = 0;             ///< bytes of text, or tokens, summed over the holders
    std::vector<std::uint32_t> holders;  ///< workers that hold any, by serial
  };
  std::optional<Tree> texts;
  std::optional<Tree> tokens;
  std::optional<std::size_t> placements;  ///< prompt heads of a hash index
  std::optional<std::size_t> sessions;    ///< pinned keys
};

/// What a policy keeps about a request as long as it is with a worker.
class RequestHold {
 public:
  RequestHold() = default;
  RequestHold(const RequestHold&) = delete;
  RequestHold& operator=(const RequestHold&) = delete;
  virtual ~RequestHold() = default;
};

/// Picks one of several workers that could all take a request. Thread-safe: one instance serves a
/// model on all io threads, and keeps its state over changes of the fleet.
class Policy {
 public:
  virtual ~Policy() = default;

  /// One of `eligible`, which is in registration order and not empty; nullptr: none of them will
  /// do.
  [[nodiscard]] virtual Worker* pick(std::span<Worker* const> eligible,
                                     const RoutingRequest& request) = 0;

  /// As in --policy and in the label of metrics.
  [[nodiscard]] virtual std::string_view name() const noexcept = 0;

  /// It routes on the prompt, so that something must read the body (rule 2 of the page).
  [[nodiscard]] virtual bool reads_prompt() const noexcept { return false; }

  /// What it makes use of otherwise: tokens and text beyond that may be left out of the request.
  [[nodiscard]] virtual PromptUse prompt_use() const noexcept { return {}; }

  /// It needs ModelPool::ring.
  [[nodiscard]] virtual bool uses_ring() const noexcept { return false; }

  /// The only one of the pool's workers that will do, because the client names it; nullptr: any
  /// will. Errors: InvalidTargetWorker.
  [[nodiscard]] virtual Result<Worker*> target(std::span<Worker* const> /*workers*/,
                                               const RoutingRequest& /*request*/) const {
    return nullptr;
  }

  [[nodiscard]] virtual PolicyMemory memory() const { return {}; }

  /// Called when a request goes to a worker; the answer is dropped when it is over. May be nullptr.
  [[nodiscard]] virtual std::unique_ptr<RequestHold> hold(Worker& /*worker*/,
                                                          const RoutingRequest& /*request*/) {
    return nullptr;
  }
};

/// The policy of a --policy name or of a worker's `policy` label: case and underscores are ignored.
/// nullptr for a name that is not known.
[[nodiscard]] std::unique_ptr<Policy> make_policy(std::string_view name);

/// The same with tuning: of `config`, the parts cache_aware, routing and fleet.routing_key_override
/// are read, and not kept. Its decisions are counted in `tallies`.
[[nodiscard]] std::unique_ptr<Policy> make_policy(
    std::string_view name, const config::GatewayConfig& config,
    const PolicyTalliesPtr& tallies = std::make_shared<PolicyTallies>());

}  // namespace smg::routing
