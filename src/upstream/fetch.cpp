#include <smg/upstream/fetch.hpp>

namespace smg::upstream {
namespace {

/// The exchange in progress, which a deadline or an abort may end.
struct Fetch {
  net::IoThread& thread;
  HostPool& pool;
  const FetchRequest& request;
  std::size_t limit;
  const TakePiece& take;        ///< empty: the body is collected
  std::function<void()> heard;  ///< called with each piece that was taken; may be empty
  net::AbortSwitch connecting;
  UpstreamExchange* exchange = nullptr;
  std::optional<GatewayError> cut;
  bool response_begun = false;

  void end(GatewayError why) {
    if (cut) return;
    cut = why;
    connecting.abort();
    if (exchange != nullptr) exchange->abort(std::move(why));
  }
};

http::Fields fields_of(const FetchRequest& request, std::string& authorization) {
  http::Fields fields{{"accept", "*/*"}};
  if (!request.authorization.empty()) {
    authorization = request.authorization;
  } else if (!request.api_key.empty()) {
    authorization = "Bearer " + request.api_key;
  }
  if (!authorization.empty()) fields.push_back({"authorization", authorization});
  if (!request.content_type.empty()) fields.push_back({"content-type", request.content_type});
  return fields;
}

net::Task<Result<std::string>> read_whole(Fetch& fetch, UpstreamExchange& exchange) {
  std::string body;
  for (;;) {
    const auto scratch = fetch.thread.scratch().first(64 * 1024);
    auto got = co_await exchange.read_body(scratch);
    if (!got) co_return got.error();
    if (*got == 0) co_return body;
    if (body.size() + *got > fetch.limit) {
      co_return fail(ErrorCode::UpstreamResponseTooLarge, "The worker's response is too large");
    }
    body.append(scratch.data(), *got);
  }
}

net::Task<Result<>> hand_on(Fetch& fetch, UpstreamExchange& exchange) {
  for (;;) {
    const auto scratch = fetch.thread.scratch().first(64 * 1024);
    auto got = co_await exchange.read_body(scratch);
    if (!got) co_return got.error();
    if (*got == 0 || !fetch.take({scratch.data(), *got})) co_return Result<>();
    fetch.heard();
  }
}

net::Task<Result<>> read_body(Fetch& fetch, UpstreamExchange& exchange, FetchedResponse& response) {
  if (fetch.take && response.ok()) {
    auto handed_on = co_await hand_on(fetch, exchange);
    co_return handed_on;
  }
  auto whole = co_await read_whole(fetch, exchange);
  if (!whole) co_return whole.error();
  response.body = std::move(*whole);
  co_return Result<>();
}

net::Task<Result<FetchedResponse>> fetch_once(Fetch& fetch, Reuse reuse) {
  auto opened = co_await fetch.pool.open(fetch.thread, fetch.connecting, reuse);
  if (fetch.cut) co_return *fetch.cut;
  if (!opened) co_return opened.error();
  UpstreamExchangePtr exchange = std::move(*opened);
  fetch.exchange = exchange.get();
  std::string authorization;
  const http::Fields fields = fields_of(fetch.request, authorization);
  const bool has_body = fetch.request.method != "GET" && fetch.request.method != "HEAD";
  exchange->write_head(
      {fetch.request.method, fetch.request.target, fields,
       has_body ? http::BodyLength::known(fetch.request.body.size()) : http::BodyLength::none()});
  const std::string_view body = fetch.request.body;
  if (!exchange->send({&body, 1}, true)) static_cast<void>(co_await exchange->flushed());
  FetchedResponse response;
  auto head = co_await exchange->read_head();
  fetch.response_begun = exchange->response_begun();
  if (head) {
    response.status = (*head)->status;
    if (const auto* type = (*head)->find("content-type")) response.content_type = type->value;
  }
  Result<> read;
  if (head) read = co_await read_body(fetch, *exchange, response);
  fetch.exchange = nullptr;
  if (!head) co_return head.error();
  if (!read) co_return read.error();
  co_return response;
}

net::Task<Result<FetchedResponse>> fetch_within(net::IoThread& thread,
                                                std::shared_ptr<HostPool> pool,
                                                FetchRequest request, net::Duration timeout,
                                                std::size_t limit, TakePiece take,
                                                net::AbortSwitch& abort) {
  if (abort.aborted()) co_return fail(ErrorCode::Aborted);
  Fetch state{thread, *pool, request, limit, take, {}, {}, nullptr, {}, false};
  net::Deadline deadline(thread.deadlines(), [&state] {
    state.end(fail(ErrorCode::UpstreamTimeout, "The worker did not answer in time"));
  });
  deadline.arm(timeout);
  state.heard = [&deadline, timeout] { deadline.arm(timeout); };
  abort.set([&state] { state.end(fail(ErrorCode::Aborted)); });
  auto response = co_await fetch_once(state, Reuse::Yes);
  const bool resendable = request.resend && !response &&
                          response.error().code == ErrorCode::UpstreamConnect &&
                          !state.response_begun && !state.cut;
  if (resendable) {
    if (request.on_resend) request.on_resend();
    response = co_await fetch_once(state, Reuse::No);
  }
  abort.clear();
  co_return response;
}

}  // namespace

net::Task<Result<FetchedResponse>> fetch(net::IoThread& thread, std::shared_ptr<HostPool> pool,
                                         FetchRequest request, net::Duration timeout,
                                         std::size_t limit, net::AbortSwitch& abort) {
  return fetch_within(thread, std::move(pool), std::move(request), timeout, limit, nullptr, abort);
}

net::Task<Result<FetchedResponse>> fetch_stream(net::IoThread& thread,
                                                std::shared_ptr<HostPool> pool,
                                                FetchRequest request, net::Duration silence,
                                                std::size_t limit, TakePiece take,
                                                net::AbortSwitch& abort) {
  return fetch_within(thread, std::move(pool), std::move(request), silence, limit, std::move(take),
                      abort);
}

}  // namespace smg::upstream
