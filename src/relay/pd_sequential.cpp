#include <exception>

#include "relay/kv_handover.hpp"
#include "relay/pd_attempt.hpp"
#include "relay/whole_response.hpp"

namespace smg::relay::pd {
namespace {

using routing::KvTransfer;
using routing::WorkerRole;

/// The request to one of the two.
struct Turn {
  Turn(PdAttempt& pd, std::unique_ptr<routing::Selection> selection, SendObserver& observer,
       std::vector<BodySplice> splices)
      : attempt(pd.services(), pd.context(), std::move(selection)),
        send(pd.services(), attempt, observer) {
    body.emplace(pd.request.body.view(), std::move(splices));
  }

  Attempt attempt;
  BufferedSend send;
  std::optional<EditedBody> body;
};

/// Prefill gets the prompt to fill its cache; what it says of it goes to decode with the request.
class InTurn final : private SendObserver {
 public:
  explicit InTurn(PdAttempt& attempt)
      : pd_(attempt),
        ranks_(attempt.ranks()),
        handover_(plan_handover(attempt.pair.prefill->worker().facts())),
        started_(std::chrono::steady_clock::now()) {}

  net::Task<Result<Step>> run();

 private:
  net::Task<Result<>> prefill();
  net::Task<Result<>> fill_cache(Turn& turn);
  net::Task<Result<Step>> decode();
  net::Task<Result<Step>> send_and_answer(Turn& turn);
  void take_over(BodyBuffer answer);

  void send_begins() override;
  void all_sent() override;

  PdAttempt& pd_;
  const PdRanks ranks_;
  KvHandover handover_;
  const std::chrono::steady_clock::time_point started_;
  Turn* last_turn_ = nullptr;  ///< decode's, while it lasts
  bool begun_ = false;
};

net::Task<Result<Step>> InTurn::run() {
  // One cache cannot be handed over for several samples: decode computes it itself.
  if (pd_.body.several_samples) {
    pd_.pair.prefill.reset();
    handover_ = {};
  } else {
    pd_.services().metrics.count_kv_transfer(name_of(handover_.mode));
    auto prefilled = co_await prefill();
    if (!prefilled) co_return prefilled.error();
  }
  auto answered = co_await decode();
  co_return answered;
}

net::Task<Result<>> InTurn::prefill() {
  Turn turn(pd_, std::move(pd_.pair.prefill), *this,
            prefill_body(pd_.source(), handover_.prefill, ranks_));
  Result<> done;
  std::exception_ptr failure;
  try {
    done = co_await fill_cache(turn);
  } catch (...) {
    failure = std::current_exception();
  }
  co_await turn.send.finish();
  if (failure) std::rethrow_exception(failure);
  co_return done;
}

net::Task<Result<>> InTurn::fill_cache(Turn& turn) {
  auto head = co_await turn.send.run(turn.body->pieces(), turn.body->size());
  if (!head) co_return fail_transport(pd_, turn.attempt, WorkerRole::Prefill, head.error());
  if (!is_success((*head)->status)) {
    auto error = co_await fail_prefill(pd_, turn.attempt, **head, true);
    co_return error;
  }
  WholeResponse answer(pd_.services(), turn.attempt, **head);
  const auto read = co_await answer.read();
  if (!read) co_return fail_transport(pd_, turn.attempt, WorkerRole::Prefill, read.error());
  turn.attempt.settle_completed((*head)->status);
  pd_.services().metrics.observe_pd_prefill(pd_.context().labels().model,
                                            turn.attempt.worker().facts().runtime_type,
                                            std::chrono::steady_clock::now() - started_);
  take_over(std::move(answer.body()));
  co_return Result<>();
}

/// What decode is told of the cache, unless that has been settled before.
void InTurn::take_over(BodyBuffer answer) {
  if (!handover_.decode.empty()) return;
  if (auto params = find_kv_transfer_params(answer)) {
    handover_.decode = std::move(*params);
  } else if (handover_.mode == KvTransfer::Nixl) {
    pd_.services().metrics.count_kv_transfer_failure();
  }
}

net::Task<Result<Step>> InTurn::decode() {
  Turn turn(pd_, std::move(pd_.pair.decode), *this,
            decode_body(pd_.source(), handover_.decode, ranks_));
  last_turn_ = &turn;
  Result<Step> step = Step::Answered;
  std::exception_ptr failure;
  try {
    step = co_await send_and_answer(turn);
  } catch (...) {
    failure = std::current_exception();
  }
  co_await turn.send.finish();
  if (failure) std::rethrow_exception(failure);
  co_return step;
}

net::Task<Result<Step>> InTurn::send_and_answer(Turn& turn) {
  auto head = co_await turn.send.run(turn.body->pieces(), turn.body->size());
  if (!head) co_return fail_transport(pd_, turn.attempt, WorkerRole::Decode, head.error());
  auto answered = co_await answer_with(pd_, turn.attempt, **head, {}, {});
  co_return answered;
}

void InTurn::send_begins() {
  if (!pd_.request.retries && !std::exchange(begun_, true)) {
    pd_.services().metrics.add_released_bytes(pd_.request.body.size());
  }
}

/// Frees a large body behind its last upload when nothing will ask for it again.
void InTurn::all_sent() {
  if (last_turn_ == nullptr || pd_.request.retries) return;
  if (last_turn_->body->size() < kOneShotBytes) return;
  last_turn_->body.reset();
  pd_.request.body.release();
}

}  // namespace

net::Task<Result<Step>> attempt_in_turn(PdAttempt& attempt) {
  InTurn turns(attempt);
  auto step = co_await turns.run();
  co_return step;
}

}  // namespace smg::relay::pd
