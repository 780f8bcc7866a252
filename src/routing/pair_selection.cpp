#include <algorithm>

#include "routing/candidates.hpp"
#include <smg/routing/pair_selection.hpp>

namespace smg::routing {
namespace {

using Workers = std::vector<Worker*>;

/// One of the two roles, on the way to a choice.
struct Side {
  const ModelPool& pool;
  RoutingRequest request;
  Worker* target = nullptr;  ///< named by the client
  Candidates candidates;
};

bool agree(const Worker& a, const Worker& b) noexcept {
  return a.facts().pd.pairing.agrees_with(b.facts().pd.pairing);
}

bool agrees_with_one(const Worker& worker, const Workers& others) noexcept {
  return std::any_of(others.begin(), others.end(),
                     [&](const Worker* other) { return agree(worker, *other); });
}

std::string_view role_of(const Side& side) noexcept {
  return name_of(side.pool.workers.front()->facts().pd.role);
}

/// Finds the workers that the client's header names. It names one of either role, or of one.
std::optional<GatewayError> find_targets(Side& prefill, Side& decode) {
  const auto first = prefill.pool.policy->target(prefill.pool.workers, prefill.request);
  const auto second = decode.pool.policy->target(decode.pool.workers, decode.request);
  if (!first && !second) return first.error();
  if (first) prefill.target = *first;
  if (second) decode.target = *second;
  return std::nullopt;
}

/// Whom the side is to take one of: the worker that the client names, or any of the pool.
std::span<Worker* const> choice_of(const Side& side) noexcept {
  if (side.target == nullptr) return side.pool.workers;
  return {&side.target, 1};
}

void find_side(Side& side, TimePoint now) {
  side.candidates = find_candidates(choice_of(side), now);
}

/// The other role's workers are not waited for: their change would not help.
GatewayError nobody(const Side& side, TimePoint now) {
  if (side.candidates.eligible.empty() && side.candidates.relief) {
    return all_overloaded(side.pool.model, *side.candidates.relief);
  }
  GatewayError none = fail(ErrorCode::NoAvailableWorkers,
                           "No available servers: No available " + std::string(role_of(side)) +
                               " workers (all circuits open or unhealthy)");
  none.retry_after_seconds = seconds_until_change(choice_of(side), now);
  return none;
}

GatewayError role_is_missing(const PairPools& pools) {
  const std::string role(
      name_of(pools.prefill.workers.empty() ? WorkerRole::Prefill : WorkerRole::Decode));
  GatewayError missing =
      fail(ErrorCode::NoAvailableWorkers, "No " + role + " workers available. Please check if " +
                                              role + " servers are configured and healthy.");
  missing.retry_after_seconds = seconds_until_change({}, {});
  return missing;
}

GatewayError no_agreement(const PairPools& pools, TimePoint now) {
  GatewayError none =
      fail(ErrorCode::NoAvailableWorkers,
           "No available prefill worker can be paired with an available decode worker: " +
               pools.prefill.workers.front()->facts().pd.pairing.text() + " and " +
               pools.decode.workers.front()->facts().pd.pairing.text() + " do not agree");
  none.retry_after_seconds = std::min(seconds_until_change(pools.prefill.workers, now),
                                      seconds_until_change(pools.decode.workers, now));
  return none;
}

std::size_t healthy_workers(const ModelPool& pool) noexcept {
  return static_cast<std::size_t>(std::count_if(pool.workers.begin(), pool.workers.end(),
                                                [](const Worker* w) { return w->healthy(); }));
}

}  // namespace

Result<WorkerPair> select_pair(const WorkerTable& table, const PairPools& pools,
                               const RoutingRequest& request, std::span<const std::uint32_t> avoid,
                               TimePoint now) {
  if (!pools.complete()) return role_is_missing(pools);
  const auto side_of = [&](const ModelPool& pool) {
    Side side{pool, request, nullptr, {}};
    side.request.now = now;
    side.request.pool = &pool;
    return side;
  };
  Side prefill = side_of(pools.prefill);
  Side decode = side_of(pools.decode);
  if (auto impossible = find_targets(prefill, decode)) return std::move(*impossible);
  find_side(prefill, now);
  find_side(decode, now);
  auto& first = prefill.candidates.eligible;
  auto& second = decode.candidates.eligible;
  if (first.empty()) return nobody(prefill, now);
  if (second.empty()) return nobody(decode, now);
  // From here on it is not for their load alone that nobody is left.
  prefill.candidates.relief = decode.candidates.relief = std::nullopt;
  std::erase_if(first, [&](const Worker* worker) { return !agrees_with_one(*worker, second); });
  if (first.empty()) return no_agreement(pools, now);
  WorkerPair pair;
  pair.prefill = admit_one(table, std::move(first), avoid, prefill.request);
  if (!pair.prefill) return nobody(prefill, now);
  std::erase_if(second, [&](const Worker* w) { return !agree(*w, pair.prefill->worker()); });
  pair.decode = admit_one(table, std::move(second), avoid, decode.request);
  if (!pair.decode) return nobody(decode, now);
  return pair;
}

bool draws_pair(const ModelPool* regular, const PairPools* pairs, double draw) noexcept {
  if (pairs == nullptr || !pairs->complete()) return false;
  if (regular == nullptr || regular->workers.empty()) return true;
  const std::size_t prefill = healthy_workers(pairs->prefill);
  const std::size_t decode = healthy_workers(pairs->decode);
  std::size_t shared = prefill == 0 || decode == 0 ? 0 : prefill + decode;
  std::size_t whole = healthy_workers(*regular);
  if (shared + whole == 0) {
    shared = pairs->prefill.workers.size() + pairs->decode.workers.size();
    whole = regular->workers.size();
  }
  return draw * static_cast<double>(shared + whole) < static_cast<double>(shared);
}

}  // namespace smg::routing
