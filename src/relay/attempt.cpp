#include "relay/attempt.hpp"

#include <smg/relay/header_rules.hpp>
#include <smg/relay/retry_rule.hpp>

namespace smg::relay {

Attempt::Attempt(const Services& services, RequestContext& request,
                 std::unique_ptr<routing::Selection> selection, ClientWatch watch)
    : services_(services),
      request_(request),
      selection_(std::move(selection)),
      watch_(watch),
      trace_(request.trace, worker().url(), worker().pool().origin().host,
             worker().pool().origin().port),
      deadline_(request.client.thread().deadlines(), [this] {
        cut(fail(ErrorCode::UpstreamTimeout, "The worker did not answer in time"));
      }) {
  request_.worker_url = worker().url();
  if (watch_ == ClientWatch::Own) {
    request_.client.on_gone([this] { cut(fail(ErrorCode::ClientGone)); });
  }
  if (request_.client.gone()) cut(fail(ErrorCode::ClientGone));
  deadline_.arm(worker().facts().request_timeout);
}

Attempt::~Attempt() {
  if (watch_ == ClientWatch::Own) request_.client.on_gone(nullptr);
}

void Attempt::cut(GatewayError why) {
  if (cut_) return;
  cut_ = why;
  connecting_.abort();
  if (exchange_) exchange_->abort(std::move(why));
  // A relay that waits for a client to take its bytes would not notice.
  if (request_.client.head_written() && request_.client.behind()) request_.client.abort();
}

void Attempt::hurry(net::Duration left) {
  if (!cut_) deadline_.arm(left);
}

net::Task<Result<>> Attempt::open(upstream::Reuse reuse) {
  if (cut_) co_return *cut_;
  auto opened = co_await worker().pool().open(request_.client.thread(), connecting_, reuse);
  if (cut_) co_return *cut_;
  if (!opened) co_return opened.error();
  exchange_ = std::move(*opened);
  co_return Result<>();
}

bool Attempt::try_open() {
  if (!cut_) exchange_ = worker().pool().try_open(request_.client.thread());
  return exchange_ != nullptr;
}

std::optional<Result<const http::ResponseHead*>> Attempt::try_read_head() {
  auto head = exchange_->try_read_head();
  if (!head) return std::nullopt;
  response_begun_ = exchange_->response_begun();
  if (*head) trace_.responded((**head)->status);
  if (cut_) return *cut_;
  return head;
}

void Attempt::close_exchange() noexcept {
  exchange_.reset();
}

void Attempt::settle(int status) {
  count_response(status);
  settle_completed(status);
}

void Attempt::settle_completed(int status) {
  selection_->settle(outcome_of(status, worker().facts().breaker_statuses));
}

void Attempt::count_response(int status) {
  services_.metrics.count_upstream_response(status, "");
  if (status >= 500) count_worker_error();
}

void Attempt::count_worker_error() {
  services_.metrics.count_worker_error(name_of(worker().facts().pd.role), "backend_error");
}

void Attempt::settle(const GatewayError& error) {
  if (error.code != ErrorCode::ClientGone && error.code != ErrorCode::Aborted) {
    services_.metrics.count_upstream_response(error.status(), row(error.code).wire_code);
  }
  settle_broken(error);
}

void Attempt::settle_broken(const GatewayError& error) {
  trace_.failed(error.code);
  if (row(error.code).fault == Fault::Worker) count_worker_error();
  selection_->settle(outcome_of(error));
}

void write_upstream_head(Attempt& attempt, const Services& services, http::BodyLength length,
                         bool keep_content_encoding) {
  const auto& facts = attempt.worker().facts();
  const std::string bearer = facts.api_key.empty() ? std::string() : "Bearer " + facts.api_key;
  const RequestContext& request = attempt.request();
  http::Fields fields =
      upstream_fields(request.client.head(), request.request_id, {bearer, request.hides_credential},
                      services.config.upstream.forward_request_headers, keep_content_encoding);
  observability::TraceParentText traceparent;
  if (auto& trace = attempt.trace(); trace.on()) {
    traceparent = trace.next_send();
    set_trace_fields(fields, {traceparent.data(), traceparent.size()}, trace.tracestate());
  }
  attempt.exchange().write_head({"POST", smg::facts(attempt.request().route).path, fields, length});
}

}  // namespace smg::relay
