#include <algorithm>

#include "routing/policies.hpp"
#include "routing/random_number.hpp"
#include "routing/ring_walk.hpp"
#include <smg/base/text.hpp>
#include <smg/config/worker_url.hpp>
#include <smg/routing/hints.hpp>

namespace smg::routing {
namespace {

bool is_visible_ascii(std::string_view value) noexcept {
  return std::all_of(value.begin(), value.end(),
                     [](char c) { return (c >= ' ' && c <= '~') || c == '\t'; });
}

/// What the request is placed by; empty: by nothing.
std::string_view ring_key(const RoutingRequest& request) noexcept {
  if (const auto session = session_key(request.rid); !session.empty()) return session;
  for (const auto key : {request.session_header, request.routing_key}) {
    if (is_valid_routing_key(key)) return key;
  }
  // The first that is there decides, even if its value is of no use.
  for (const auto& identity : {request.authorization, request.x_forwarded_for, request.cookie}) {
    if (identity) return is_visible_ascii(*identity) ? *identity : std::string_view();
  }
  return {};
}

/// Places a client or a session on the hash ring of the model's workers; requests that tell nothing
/// about their origin go anywhere. A worker named by x-smg-target-worker comes before all that.
class ConsistentHashingPolicy final : public Policy {
 public:
  explicit ConsistentHashingPolicy(PolicyTalliesPtr tallies) : tallies_(std::move(tallies)) {}

  Worker* pick(std::span<Worker* const> eligible, const RoutingRequest& request) override {
    if (eligible.size() == 1) return eligible.front();
    const auto key = ring_key(request);
    auto& branches = tallies_->consistent_hashing;
    if (key.empty()) {
      branches.count(ConsistentHashingBranch::RandomFallback);
      return eligible[random_below(static_cast<std::uint32_t>(eligible.size()))];
    }
    branches.count(ConsistentHashingBranch::RoutingKeyHit);
    return owner_on_ring(key, eligible, request);
  }

  Result<Worker*> target(std::span<Worker* const> workers,
                         const RoutingRequest& request) const override {
    if (request.target_worker.empty()) return nullptr;
    Worker* const named = find_named(workers, request.target_worker);
    auto& branches = tallies_->consistent_hashing;
    if (named != nullptr) {
      branches.count(ConsistentHashingBranch::TargetWorkerHit);
      return named;
    }
    branches.count(ConsistentHashingBranch::TargetWorkerMiss);
    return fail(
        ErrorCode::InvalidTargetWorker,
        "X-SMG-Target-Worker is not the index, the ID or the URL of a worker of this model");
  }

  std::string_view name() const noexcept override { return "consistent_hashing"; }
  bool uses_ring() const noexcept override { return true; }

 private:
  static Worker* find_named(std::span<Worker* const> workers, std::string_view value) {
    if (const auto index = text::parse_decimal(value)) {
      if (*index < workers.size()) return workers[*index];
    }
    const auto url = config::parse_worker_url(value);
    for (Worker* worker : workers) {
      const bool is_named = worker->facts().id == value || worker->url() == value ||
                            (url && worker->url() == url->text);
      if (is_named) return worker;
    }
    return nullptr;
  }

  const PolicyTalliesPtr tallies_;
};

}  // namespace

std::unique_ptr<Policy> make_consistent_hashing_policy(PolicyTalliesPtr tallies) {
  return std::make_unique<ConsistentHashingPolicy>(std::move(tallies));
}

}  // namespace smg::routing
