#include "relay/pd_relay.hpp"

#include "relay/pd_attempt.hpp"

namespace smg::relay {
namespace {

/// The attempts of one request with pairs.
class PairRelay final : public AttemptMaker {
 public:
  PairRelay(BufferedRequest& request, const routing::PairPools& pools, pd::PdBody body)
      : request_(request), pools_(pools), body_(std::move(body)) {}

  [[nodiscard]] net::Task<Result<Step>> attempt(bool last) override;

 private:
  void count_selection(std::string_view type, const routing::ModelPool& pool);

  BufferedRequest& request_;
  const routing::PairPools& pools_;
  const pd::PdBody body_;
  std::vector<routing::Worker*> failed_;
};

net::Task<Result<Step>> PairRelay::attempt(bool last) {
  auto selected = routing::select_pair(*request_.table, pools_, request_.inputs->request(), failed_,
                                       std::chrono::steady_clock::now());
  if (!selected) {
    count_unselected(request_.services, selected.error());
    co_return selected.error();
  }
  if (!request_.retries) request_.inputs->release_prompt();
  count_selection(pd::kTypes[0], pools_.prefill);
  count_selection(pd::kTypes[1], pools_.decode);
  pd::PdAttempt attempt{request_, body_, std::move(*selected), last};
  const bool in_turn = attempt.pair.prefill->worker().facts().runtime_type == "vllm";
  Result<Step> step;
  if (in_turn) {
    step = co_await attempt_in_turn(attempt);
  } else {
    step = co_await attempt_side_by_side(attempt);
  }
  if (attempt.at_fault != nullptr) failed_.push_back(attempt.at_fault);
  co_return step;
}

void PairRelay::count_selection(std::string_view type, const routing::ModelPool& pool) {
  request_.services.metrics.count_worker_selection(type, request_.context.labels().model,
                                                   pool.policy->name());
}

}  // namespace

net::Task<Result<>> run_pairs(BufferedRequest& request, const routing::PairPools& pools) {
  auto body = pd::read_pd_body(request.context.route, request.body);
  if (!body) co_return body.error();
  PairRelay relay(request, pools, std::move(*body));
  auto done = co_await attempt_until_done(request.services, request.context, relay, pd::kTypes);
  co_return done;
}

}  // namespace smg::relay
