#include "relay/buffered_relay.hpp"

#include <array>
#include <exception>

#include "relay/attempt_loop.hpp"
#include "relay/body_collector.hpp"
#include "relay/buffered_request.hpp"
#include "relay/buffered_send.hpp"
#include "relay/pd_relay.hpp"
#include "relay/response_relay.hpp"
#include "relay/target.hpp"
#include "relay/whole_response.hpp"
#include <smg/relay/provider_profile.hpp>
#include <smg/relay/retry_rule.hpp>

namespace smg::relay {
namespace {

constexpr std::array<std::string_view, 1> kTypes{name_of(routing::WorkerRole::Regular)};

/// The attempts of a request that one worker serves whole.
class BufferedRelay final : public AttemptMaker, private SendObserver {
 public:
  explicit BufferedRelay(BufferedRequest& request)
      : services_(request.services), request_(request) {
    if (request.model) edits_.model = *request.model;
  }

  net::Task<Result<>> run() {
    return attempt_until_done(services_, request_.context, *this, kTypes);
  }

  [[nodiscard]] net::Task<Result<Step>> attempt(bool last) override;

 private:
  [[nodiscard]] Result<std::unique_ptr<routing::Selection>> select();
  net::Task<Result<Step>> answer(Attempt& attempt, const http::ResponseHead& head, bool last);
  void edit_for(const routing::Worker& worker);

  void send_begins() override;
  void all_sent() override;
  void free_body();

  const Services& services_;
  BufferedRequest& request_;
  BodyEdits edits_;
  std::optional<EditedBody> edited_;
  std::uint64_t upstream_size_ = 0;
  std::uint64_t to_be_released_ = 0;
  bool sent_ = false;                  // all of the body, to the present worker
  bool committed_ = false;             // the client gets this worker's answer, or none
  std::vector<std::uint32_t> failed_;  // workers, by serial
};

net::Task<Result<Step>> BufferedRelay::attempt(bool last) {
  auto selected = select();
  if (!selected) co_return selected.error();
  Attempt attempt(services_, request_.context, std::move(*selected));
  edit_for(attempt.worker());
  BufferedSend send(services_, attempt, *this);
  Result<Step> step = Step::Answered;
  std::exception_ptr failure;
  try {
    auto head = co_await send.run(edited_->pieces(), upstream_size_);
    if (head) {
      step = co_await answer(attempt, **head, last);
    } else {
      step = head.error();
    }
  } catch (...) {
    failure = std::current_exception();
  }
  // The upload works on this frame: it ends before the frame does.
  if (!send.try_finish()) co_await send.finish();
  if (failure) std::rethrow_exception(failure);
  if (!step && !request_.context.client.head_written()) attempt.settle(step.error());
  if (!step || *step == Step::TryAgain) failed_.push_back(attempt.worker().serial());
  co_return step;
}

/// A worker of the present fleet for the next attempt, one that has not failed if there is one.
Result<std::unique_ptr<routing::Selection>> BufferedRelay::select() {
  const routing::WorkerTable& table = request_.table();
  const auto* const pool = table.find(request_.context.model);
  auto selected = pool == nullptr
                      ? nobody_left()
                      : routing::select_worker(table, *pool, request_.inputs->request(), failed_,
                                               std::chrono::steady_clock::now());
  if (!selected) {
    count_unselected(services_, selected.error());
    return selected;
  }
  if (!request_.retries) request_.inputs->release_prompt();
  services_.metrics.count_worker_selection(kTypes.front(), request_.context.labels().model,
                                           pool->policy->name());
  return selected;
}

/// Brings a response to the client, or drops it in favour of another attempt.
net::Task<Result<Step>> BufferedRelay::answer(Attempt& attempt, const http::ResponseHead& head,
                                              bool last) {
  if (is_retryable(head.status) && !last) {
    attempt.settle(head.status);
    co_await discard_short(services_, attempt, head);
    co_return Step::TryAgain;
  }
  const auto count_if_exhausted = [&] {
    if (is_retryable(head.status)) count_exhausted(services_, request_.context, kTypes);
  };
  Result<> answered;
  if (request_.context.streaming) {
    count_if_exhausted();
    committed_ = true;
    request_.inputs->release_prompt();
    free_body();
    answered = co_await relay_stream(services_, attempt, head, "text/event-stream");
  } else {
    WholeResponse whole(services_, attempt, head);
    auto done = whole.try_read();
    if (!done) done = co_await whole.read();
    if (!*done) co_return done->error();
    count_if_exhausted();
    attempt.settle(head.status);
    done = whole.try_send();
    if (!done) done = co_await whole.send();
    answered = *done;
  }
  if (!answered) co_return answered.error();
  co_return Step::Answered;
}

/// The body as this worker is to get it: a data-parallel rank finds its number in it.
void BufferedRelay::edit_for(const routing::Worker& worker) {
  const auto& rank = worker.facts().rank;
  edits_.data_parallel_rank = rank ? std::optional(rank->rank) : std::nullopt;
  edited_.emplace(request_.body.view(), request_.fields, edits_);
  upstream_size_ = to_be_released_ = edited_->size();
}

void BufferedRelay::send_begins() {
  sent_ = false;
  if (!request_.retries) {
    services_.metrics.add_released_bytes(std::exchange(to_be_released_, 0));
  }
}

void BufferedRelay::all_sent() {
  sent_ = true;
  free_body();
}

/// Frees the body behind its upload once nothing will ask for it again: a stream may last, and its
/// prompt be long.
void BufferedRelay::free_body() {
  const bool is_one_shot = !request_.retries && upstream_size_ >= kOneShotBytes;
  if (!sent_ || !(committed_ || is_one_shot)) return;
  edited_.reset();
  request_.body.release();
}

/// Reads what the body says, and who may answer it.
Result<Target> read_body(BufferedRequest& request) {
  RequestContext& context = request.context;
  auto fields = inspect_body(context.route, request.body);
  if (!fields) return fields.error();
  request.fields = std::move(*fields);
  context.streaming = request.fields.stream;
  const auto mode = request.services.config.modes.router();
  auto target =
      find_target(mode, request.table(), context.route, request.fields.model, random_draw());
  context.shared = target ? target->pairs != nullptr : mode == config::RouterMode::PrefillDecode;
  if (target) context.model = target->model();
  context.count(request.services.metrics);
  if (!target) count_unselected(request.services, target.error());
  return target;
}

/// Fills in what selection goes by, and how the model is to be named.
void prepare(BufferedRequest& request, const Target& target) {
  RequestContext& context = request.context;
  const auto& model = request.fields.model;
  // By the client's own name for the model: an alias keeps its own profile (the page).
  context.minimax =
      !context.shared && model && provider_profile_of(*model) == ProviderProfile::MiniMax;
  if (model && *model != context.model) request.model = context.model;
  request.inputs.emplace(context.client.head(), request.services.config.fleet, context.model,
                         target.prompt_use());
  request.inputs->add_body(context.route, request.body, request.fields);
}

}  // namespace

net::Task<Result<>> run_buffered(Services services, RequestContext& context,
                                 const FleetView& fleet) {
  BufferedRequest request(services, context, fleet);
  BodyCollector collector(services, context, request.body);
  auto done = collector.try_collect();
  if (!done) done = co_await collector.collect();
  if (!*done) co_return *done;
  const auto target = read_body(request);
  if (!target) co_return target.error();
  prepare(request, *target);
  if (target->pairs != nullptr) {
    done = co_await run_pairs(request);
    co_return *done;
  }
  BufferedRelay relay(request);
  done = co_await relay.run();
  co_return *done;
}

}  // namespace smg::relay
