#include "relay/pd_relay.hpp"

#include "relay/pd_attempt.hpp"

namespace smg::relay {
namespace {

/// The attempts of one request with pairs.
class PairRelay final : public AttemptMaker {
 public:
  PairRelay(BufferedRequest& request, pd::PdBody body)
      : request_(request), body_(std::move(body)) {}

  [[nodiscard]] net::Task<Result<Step>> attempt(bool last) override;

 private:
  [[nodiscard]] Result<routing::WorkerPair> select();
  void count_selection(std::string_view type, const routing::ModelPool& pool);

  BufferedRequest& request_;
  const pd::PdBody body_;
  std::vector<std::uint32_t> failed_;  // workers, by serial
};

net::Task<Result<Step>> PairRelay::attempt(bool last) {
  auto selected = select();
  if (!selected) co_return selected.error();
  pd::PdAttempt attempt{request_, body_, std::move(*selected), last};
  const bool in_turn = attempt.pair.prefill->worker().facts().runtime_type == "vllm";
  Result<Step> step;
  if (in_turn) {
    step = co_await attempt_in_turn(attempt);
  } else {
    step = co_await attempt_side_by_side(attempt);
  }
  if (attempt.at_fault != nullptr) failed_.push_back(attempt.at_fault->serial());
  co_return step;
}

/// Two workers of the present fleet, such as have not failed if there are any.
Result<routing::WorkerPair> PairRelay::select() {
  const routing::WorkerTable& table = request_.table();
  const auto* const pools = table.find_pairs(request_.context.model);
  auto selected = pools == nullptr
                      ? nobody_left()
                      : routing::select_pair(table, *pools, request_.inputs->request(), failed_,
                                             std::chrono::steady_clock::now());
  if (!selected) {
    count_unselected(request_.services, selected.error());
    return selected;
  }
  if (!request_.retries) request_.inputs->release_prompt();
  count_selection(pd::kTypes[0], pools->prefill);
  count_selection(pd::kTypes[1], pools->decode);
  return selected;
}

void PairRelay::count_selection(std::string_view type, const routing::ModelPool& pool) {
  request_.services.metrics.count_worker_selection(type, request_.context.labels().model,
                                                   pool.policy->name());
}

}  // namespace

net::Task<Result<>> run_pairs(BufferedRequest& request) {
  auto body = pd::read_pd_body(request.context.route, request.body);
  if (!body) co_return body.error();
  PairRelay relay(request, std::move(*body));
  auto done = co_await attempt_until_done(request.services, request.context, relay, pd::kTypes);
  co_return done;
}

}  // namespace smg::relay
