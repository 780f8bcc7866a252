#include <exception>

#include "relay/pd_attempt.hpp"
#include "relay/response_relay.hpp"
#include "relay/whole_response.hpp"

namespace smg::relay::pd {
namespace {

using routing::WorkerRole;

/// How long a decode worker that is about to answer may take once prefill has refused: what it says
/// itself comes first (router modes, "Combination"), but the cache it waits for will not come.
constexpr std::chrono::milliseconds kLastWord{50};

/// One of the two exchanges.
struct Leg {
  Leg(PdAttempt& pd, std::unique_ptr<routing::Selection> selection, SendObserver& observer)
      : attempt(pd.services(), pd.context(), std::move(selection), ClientWatch::OfPair),
        send(pd.services(), attempt, observer) {}

  Attempt attempt;
  BufferedSend send;
  std::optional<EditedBody> body;
  Result<const http::ResponseHead*> head = fail(ErrorCode::Aborted);
  bool waiting = false;  ///< for its head
  bool ended = false;    ///< by us, for the sake of the other

  [[nodiscard]] bool failed() const noexcept { return !head && !ended; }
  [[nodiscard]] bool refused() const noexcept { return head && !is_success((*head)->status); }
  void end() {
    ended = ended || waiting;
    attempt.cut(fail(ErrorCode::Aborted));
  }
};

/// Both workers get the same body at once and find each other by what the gateway has put into it.
class SideBySide final : private SendObserver {
 public:
  explicit SideBySide(PdAttempt& attempt)
      : pd_(attempt),
        ranks_(attempt.ranks()),
        started_(std::chrono::steady_clock::now()),
        prefill_(attempt, std::move(attempt.pair.prefill), *this),
        decode_(attempt, std::move(attempt.pair.decode), *this),
        heads_(attempt.request.thread().executor()) {}

  net::Task<Result<Step>> run();

 private:
  void write_bodies();
  void client_left();
  net::Task<Result<Step>> dispatch();
  net::Task<> fetch_head(Leg& leg, Leg& other);
  net::Task<Result<Step>> combine();
  net::Task<Result<BodyBuffer>> read_prefill();

  void send_begins() override;
  void all_sent() override;

  PdAttempt& pd_;
  const PdRanks ranks_;
  const std::chrono::steady_clock::time_point started_;
  Leg prefill_;
  Leg decode_;
  net::TaskGroup heads_;
  int unsent_ = 2;
  bool begun_ = false;
};

net::Task<Result<Step>> SideBySide::run() {
  Result<Step> step = Step::Answered;
  std::exception_ptr failure;
  try {
    step = co_await dispatch();
  } catch (...) {
    failure = std::current_exception();
  }
  pd_.context().client.on_gone(nullptr);
  if (prefill_.waiting) prefill_.end();
  if (decode_.waiting) decode_.end();
  co_await heads_.join();
  co_await prefill_.send.finish();
  co_await decode_.send.finish();
  if (failure) std::rethrow_exception(failure);
  co_return step;
}

void SideBySide::write_bodies() {
  const auto& facts = prefill_.attempt.worker().facts();
  const auto rooms = draw_rooms(pd_.body);
  const Rendezvous rendezvous{facts.pd.host, facts.pd.bootstrap_port, rooms};
  const PdSource source = pd_.source();
  prefill_.body.emplace(source.body, parallel_body(source, rendezvous, ranks_, false));
  decode_.body.emplace(source.body, parallel_body(source, rendezvous, ranks_, true));
}

void SideBySide::client_left() {
  prefill_.attempt.cut(fail(ErrorCode::ClientGone));
  decode_.attempt.cut(fail(ErrorCode::ClientGone));
}

net::Task<Result<Step>> SideBySide::dispatch() {
  write_bodies();
  auto& client = pd_.context().client;
  client.on_gone([this] { client_left(); });
  if (client.gone()) co_return fail(ErrorCode::ClientGone);
  prefill_.waiting = decode_.waiting = true;
  heads_.spawn(fetch_head(prefill_, decode_));
  heads_.spawn(fetch_head(decode_, prefill_));
  co_await heads_.join();
  if (client.gone()) co_return fail(ErrorCode::ClientGone);
  auto combined = co_await combine();
  co_return combined;
}

/// Waits for one head. A worker without its other half computes in vain, or waits for a cache that
/// will not come.
net::Task<> SideBySide::fetch_head(Leg& leg, Leg& other) {
  try {
    leg.head = co_await leg.send.run(leg.body->pieces(), leg.body->size());
  } catch (const std::exception&) {
    leg.head = fail(ErrorCode::Internal, "The gateway failed to process the request");
  }
  leg.waiting = false;
  if (!other.waiting || !(leg.failed() || leg.refused())) co_return;
  if (leg.failed() || &leg == &decode_) {
    other.end();
  } else {
    other.ended = true;
    other.attempt.hurry(kLastWord);
  }
}

/// Both heads are there, or one has settled the matter.
net::Task<Result<Step>> SideBySide::combine() {
  for (auto [leg, role] :
       {std::pair{&prefill_, WorkerRole::Prefill}, std::pair{&decode_, WorkerRole::Decode}}) {
    if (leg->failed()) co_return fail_transport(pd_, leg->attempt, role, leg->head.error());
  }
  if (decode_.refused()) {
    auto refused = co_await answer_with(pd_, decode_.attempt, **decode_.head, {}, {});
    co_return refused;
  }
  if (prefill_.refused()) {
    decode_.attempt.cut(fail(ErrorCode::Aborted));
    auto error = co_await fail_prefill(pd_, prefill_.attempt, **prefill_.head, false);
    co_return error;
  }
  auto said = co_await read_prefill();
  if (!said) {
    decode_.attempt.cut(fail(ErrorCode::Aborted));
    co_return fail_transport(pd_, prefill_.attempt, WorkerRole::Prefill, said.error());
  }
  const auto logprobs = PromptLogprobs::of(*said);
  auto answered =
      co_await answer_with(pd_, decode_.attempt, **decode_.head, logprobs, said->view());
  co_return answered;
}

/// Reads prefill's answer to its end: only then is its worker free, and decode's answer whole. What
/// it says is kept only if there may be something to merge in it.
net::Task<Result<BodyBuffer>> SideBySide::read_prefill() {
  Attempt& attempt = prefill_.attempt;
  const http::ResponseHead& head = **prefill_.head;
  BodyBuffer kept;
  if (pd_.body.wants_prompt_logprobs && !is_event_stream(head)) {
    WholeResponse whole(pd_.services(), attempt, head);
    const auto read = co_await whole.read();
    if (!read) co_return read.error();
    kept = std::move(whole.body());
  }
  while (!attempt.exchange().body_ended()) {
    auto got = co_await attempt.exchange().read_body(attempt.request().client.thread().scratch());
    if (!got) co_return got.error();
  }
  const auto& facts = attempt.worker().facts();
  pd_.services().metrics.observe_pd_prefill(pd_.context().labels().model, facts.runtime_type,
                                            std::chrono::steady_clock::now() - started_);
  attempt.settle_completed(head.status);
  attempt.retire();
  co_await prefill_.send.finish();
  co_return kept;
}

void SideBySide::send_begins() {
  if (!pd_.request.retries && !std::exchange(begun_, true)) {
    pd_.services().metrics.add_released_bytes(pd_.request.body.size());
  }
}

/// Frees a large body behind both uploads when nothing will ask for it again.
void SideBySide::all_sent() {
  if (--unsent_ > 0 || pd_.request.retries || prefill_.body->size() < kOneShotBytes) return;
  prefill_.body.reset();
  decode_.body.reset();
  pd_.request.body.release();
}

}  // namespace

net::Task<Result<Step>> attempt_side_by_side(PdAttempt& attempt) {
  SideBySide both(attempt);
  auto step = co_await both.run();
  co_return step;
}

}  // namespace smg::relay::pd
