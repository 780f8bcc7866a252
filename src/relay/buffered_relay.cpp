#include "relay/buffered_relay.hpp"

#include <exception>

#include "relay/body_collector.hpp"
#include "relay/response_relay.hpp"
#include "relay/routing_inputs.hpp"
#include "relay/upload.hpp"
#include <smg/relay/provider_profile.hpp>
#include <smg/relay/request_body.hpp>
#include <smg/relay/retry_rule.hpp>

namespace smg::relay {
namespace {

/// From this size on a body is sent once and freed behind its upload: it cannot be resent at this
/// layer (the page, "Early release" and "Resending Pre-Response Failures").
constexpr std::uint64_t kOneShotBytes = 1024 * 1024;
/// The answer to an attempt that will be repeated is read, to keep its connection, if it is this
/// short.
constexpr std::uint64_t kDiscardBytes = 64 * 1024;
constexpr std::chrono::milliseconds kDiscardTime{50};

/// One buffered request and the attempts to get it answered.
class BufferedRelay {
 public:
  BufferedRelay(const Services& services, RequestContext& request, const FleetView& fleet)
      : services_(services),
        request_(request),
        fleet_(fleet),
        retries_(services.config.retry.enabled()) {}

  net::Task<Result<>> run();

 private:
  /// An attempt's end that another attempt may follow; any other end is the request's.
  enum class Step : std::uint8_t { Answered, TryAgain };

  Result<const routing::ModelPool*> find_pool(const BodyFields& fields) const;
  net::Task<Result<>> attempt_until_done(const routing::ModelPool& pool);
  net::Task<Result<Step>> attempt_once(const routing::ModelPool& pool, bool last);
  net::Task<Result<Step>> dispatch(Attempt& attempt, bool last);
  net::Task<Result<Step>> send_and_answer(Attempt& attempt, bool last, bool& resend);
  net::Task<Result<Step>> answer(Attempt& attempt, const http::ResponseHead& head, bool last);
  net::Task<Result<>> answer_whole(Attempt& attempt, const http::ResponseHead& head);
  net::Task<bool> back_off(std::uint32_t repetition);
  void edit_for(const routing::Worker& worker);
  void body_sent();

  const Services& services_;
  RequestContext& request_;
  const FleetView& fleet_;
  routing::WorkerTablePtr table_;  ///< as it is once the body is there
  const bool retries_;
  BodyBuffer body_;
  std::optional<RoutingInputs> inputs_;
  BodyFields fields_;
  BodyEdits edits_;
  std::optional<EditedBody> edited_;
  std::uint64_t upstream_size_ = 0;
  std::uint64_t to_be_released_ = 0;
  std::vector<routing::Worker*> failed_;
};

net::Task<Result<>> BufferedRelay::run() {
  auto collected = co_await collect_body(services_, request_);
  if (!collected) co_return collected.error();
  body_ = std::move(*collected);
  auto fields = inspect_body(request_.route, body_);
  if (!fields) co_return fields.error();
  request_.streaming = fields->stream;

  table_ = fleet_.on(request_.client.thread());
  const auto found = find_pool(*fields);
  if (found) request_.model = (*found)->model;
  services_.metrics.count_router_request(request_.labels());
  if (!found) {
    const GatewayError& unknown = found.error();
    services_.metrics.count_upstream_response(unknown.status(), row(unknown.code).wire_code);
    co_return unknown;
  }
  const routing::ModelPool* const pool = *found;
  const std::string_view model = fields->model ? std::string_view(*fields->model) : "";
  // By the client's own name for the model: an alias keeps its own profile (the page).
  request_.minimax = provider_profile_of(model) == ProviderProfile::MiniMax;
  if (fields->model && model != pool->model) edits_.model = pool->model;
  fields_ = std::move(*fields);  // `model` views what is gone now
  inputs_.emplace(request_.client.head(), services_.config.fleet, *pool);
  inputs_->add_body(request_.route, body_, fields_);
  auto done = co_await attempt_until_done(*pool);
  co_return done;
}

/// The workers of the model that the body names; of all, if it names none and need not.
Result<const routing::ModelPool*> BufferedRelay::find_pool(const BodyFields& fields) const {
  if (!fields.model && services_.config.modes.router() == config::RouterMode::MultiModel) {
    return fail(ErrorCode::MissingModel,
                std::string(facts(request_.route).path) +
                    " requests must name a model: it chooses the workers under --enable-igw");
  }
  const std::string_view model = fields.model ? std::string_view(*fields.model) : "";
  const bool names_nothing = fields.model && model.empty();
  if (const auto* pool = names_nothing ? nullptr : table_->find(model)) return pool;
  const std::string shown = fields.model ? *fields.model : "unknown";
  return fail(ErrorCode::ModelNotFound, "No worker available for model '" + shown + "'");
}

net::Task<Result<>> BufferedRelay::attempt_until_done(const routing::ModelPool& pool) {
  const auto endpoint = facts(request_.route).endpoint;
  const std::uint32_t most = retries_ ? services_.config.retry.max_attempts : 1;
  for (std::uint32_t number = 1;; ++number) {
    const bool last = number >= most;
    auto step = co_await attempt_once(pool, last);
    if (step && *step == Step::Answered) co_return Result<>();
    if (!step && (request_.client.head_written() || !is_retryable(step.error()))) {
      co_return step.error();
    }
    if (last) {
      services_.metrics.count_retries_exhausted("regular", endpoint);
      co_return step.error();
    }
    const bool waited = co_await back_off(number);
    if (!waited) co_return fail(ErrorCode::ClientGone);
    services_.metrics.count_retry("regular", endpoint);
  }
}

net::Task<Result<BufferedRelay::Step>> BufferedRelay::attempt_once(const routing::ModelPool& pool,
                                                                   bool last) {
  auto selected = routing::select_worker(*table_, pool, inputs_->request(), failed_,
                                         std::chrono::steady_clock::now());
  if (!selected) {
    services_.metrics.count_upstream_response(selected.error().status(),
                                              row(selected.error().code).wire_code);
    if (selected.error().code == ErrorCode::WorkersOverloaded) {
      services_.metrics.count_overload_shed("selection");
    }
    co_return selected.error();
  }
  if (!retries_) inputs_->release_prompt();
  services_.metrics.count_worker_selection("regular", request_.labels().model, pool.policy->name());
  failed_.push_back(&(*selected)->worker());
  Attempt attempt(services_, request_, std::move(*selected));
  edit_for(attempt.worker());
  auto step = co_await dispatch(attempt, last);
  co_return step;
}

/// Sends the request, and once more, to the same worker, if that fails before the worker has said
/// anything.
net::Task<Result<BufferedRelay::Step>> BufferedRelay::dispatch(Attempt& attempt, bool last) {
  bool resend = false;
  auto step = co_await send_and_answer(attempt, last, resend);
  if (resend) {
    services_.metrics.count_send_retry();
    step = co_await send_and_answer(attempt, last, resend);
  }
  if (!step && !request_.client.head_written()) attempt.settle(step.error());
  co_return step;
}

net::Task<Result<BufferedRelay::Step>> BufferedRelay::send_and_answer(Attempt& attempt, bool last,
                                                                      bool& resend) {
  resend = false;
  auto opened = co_await attempt.open();
  const auto is_resendable = [&](const GatewayError& error) {
    return error.code == ErrorCode::UpstreamConnect && !attempt.response_begun() &&
           !attempt.was_cut() && upstream_size_ < kOneShotBytes;
  };
  if (!opened) {
    resend = is_resendable(opened.error());
    co_return opened.error();
  }
  if (!retries_) services_.metrics.add_released_bytes(std::exchange(to_be_released_, 0));
  write_upstream_head(attempt, services_, http::BodyLength::known(upstream_size_), false);
  BufferedUpload upload(attempt, [this] { body_sent(); });
  upload.start(edited_->pieces());
  Result<Step> step = Step::Answered;
  std::exception_ptr failure;
  try {
    auto head = co_await attempt.read_head();
    if (head) {
      step = co_await answer(attempt, **head, last);
    } else {
      resend = is_resendable(head.error());
      step = head.error();
    }
  } catch (...) {
    failure = std::current_exception();
  }
  // The upload works on this frame: it ends before the frame does.
  co_await upload.stop();
  attempt.close_exchange();
  if (failure) std::rethrow_exception(failure);
  co_return step;
}

/// Brings a response to the client, or drops it in favour of another attempt.
net::Task<Result<BufferedRelay::Step>> BufferedRelay::answer(Attempt& attempt,
                                                             const http::ResponseHead& head,
                                                             bool last) {
  if (is_retryable(head.status)) {
    if (last) {
      services_.metrics.count_retries_exhausted("regular", facts(request_.route).endpoint);
    } else {
      attempt.settle(head.status);
      const bool is_short =
          head.length.kind == http::BodyLength::Kind::Known && head.length.bytes <= kDiscardBytes;
      if (is_short) {
        attempt.hurry(kDiscardTime);
        auto discarded = co_await read_whole(services_, attempt, head);
        static_cast<void>(discarded);
      }
      co_return Step::TryAgain;
    }
  }
  Result<> answered;
  if (request_.streaming) {
    answered = co_await relay_stream(services_, attempt, head, "text/event-stream");
  } else {
    answered = co_await answer_whole(attempt, head);
  }
  if (!answered) co_return answered.error();
  co_return Step::Answered;
}

net::Task<Result<>> BufferedRelay::answer_whole(Attempt& attempt, const http::ResponseHead& head) {
  auto body = co_await read_whole(services_, attempt, head);
  if (!body) co_return body.error();
  attempt.settle(head.status);
  auto sent = co_await send_whole(attempt, head, std::move(*body));
  co_return sent;
}

/// The body as this worker is to get it: a data-parallel rank finds its number in it.
void BufferedRelay::edit_for(const routing::Worker& worker) {
  const auto& rank = worker.facts().rank;
  edits_.data_parallel_rank = rank ? std::optional(rank->rank) : std::nullopt;
  edited_.emplace(body_.view(), fields_, edits_);
  upstream_size_ = to_be_released_ = edited_->size();
}

/// Frees a large body behind its upload when nothing will ask for it again.
void BufferedRelay::body_sent() {
  if (retries_ || upstream_size_ < kOneShotBytes) return;
  edited_.reset();
  body_.release();
}

/// Waits before the next attempt. False: the client has left meanwhile.
net::Task<bool> BufferedRelay::back_off(std::uint32_t repetition) {
  const auto delay = backoff(services_.config.retry, repetition, random_draw());
  services_.metrics.observe_retry_backoff(repetition, delay);
  net::Gate wake(request_.client.thread().executor());
  request_.client.on_gone([&wake] { wake.open(); });
  if (!request_.client.gone()) co_await net::sleep_or_wake(request_.client.thread(), wake, delay);
  request_.client.on_gone(nullptr);
  co_return !request_.client.gone();
}

}  // namespace

net::Task<Result<>> run_buffered(const Services& services, RequestContext& request,
                                 const FleetView& fleet) {
  BufferedRelay relay(services, request, fleet);
  auto done = co_await relay.run();
  co_return done;
}

}  // namespace smg::relay
