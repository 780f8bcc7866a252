#include "relay/streaming_relay.hpp"

#include <exception>

#include "relay/response_relay.hpp"
#include "relay/upload.hpp"
#include "relay/whole_response.hpp"
#include <smg/relay/retry_rule.hpp>

namespace smg::relay {
namespace {

/// Brings the response to the client while the upload may still be going on.
net::Task<Result<>> relay_response(const Services& services, Attempt& attempt) {
  auto head = attempt.try_read_head();
  while (!head) {
    co_await attempt.exchange().arrival();
    head = attempt.try_read_head();
  }
  if (!*head) {
    attempt.settle(head->error());
    co_return head->error();
  }
  const http::ResponseHead& response = ***head;
  if (is_event_stream(response)) {
    auto relayed = co_await relay_stream(services, attempt, response, {});
    co_return relayed;
  }
  WholeResponse whole(services, attempt, response);
  auto done = whole.try_read();
  if (!done) done = co_await whole.read();
  if (!*done) {
    attempt.settle(done->error());
    co_return *done;
  }
  attempt.settle(response.status);
  done = whole.try_send();
  if (!done) done = co_await whole.send();
  co_return *done;
}

}  // namespace

net::Task<Result<>> run_streamed(Services services, RequestContext& request,
                                 std::unique_ptr<routing::Selection> selection) {
  Attempt attempt(services, request, std::move(selection));
  Result<> opened;
  if (!attempt.try_open()) opened = co_await attempt.open();
  if (!opened) {
    attempt.settle(opened.error());
    co_return opened;
  }
  write_upstream_head(attempt, services, http::BodyLength::chunked(), true);
  StreamedUpload upload(services, attempt);
  Result<> relayed;
  std::exception_ptr failure;
  try {
    upload.start();
    relayed = co_await relay_response(services, attempt);
  } catch (...) {
    failure = std::current_exception();
  }
  // The upload works on this frame: it ends before the frame does.
  if (upload.is_running()) co_await upload.stop();
  attempt.close_exchange();
  if (failure) std::rethrow_exception(failure);
  co_return relayed;
}

}  // namespace smg::relay
