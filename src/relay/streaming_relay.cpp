#include "relay/streaming_relay.hpp"

#include <exception>

#include "relay/response_relay.hpp"
#include "relay/upload.hpp"
#include <smg/relay/retry_rule.hpp>

namespace smg::relay {
namespace {

/// Brings the response to the client while the upload may still be going on.
net::Task<Result<>> relay_response(const Services& services, Attempt& attempt) {
  auto head = co_await attempt.read_head();
  if (!head) {
    attempt.settle(head.error());
    co_return head.error();
  }
  const http::ResponseHead& response = **head;
  if (is_event_stream(response)) {
    auto relayed = co_await relay_stream(services, attempt, response, {});
    co_return relayed;
  }
  auto body = co_await read_whole(services, attempt, response);
  if (!body) {
    attempt.settle(body.error());
    co_return body.error();
  }
  attempt.settle(response.status);
  auto sent = co_await send_whole(attempt, response, std::move(*body));
  co_return sent;
}

}  // namespace

net::Task<Result<>> run_streamed(const Services& services, RequestContext& request,
                                 std::unique_ptr<routing::Selection> selection) {
  Attempt attempt(services, request, std::move(selection));
  auto opened = co_await attempt.open();
  if (!opened) {
    attempt.settle(opened.error());
    co_return opened;
  }
  write_upstream_head(attempt, services, http::BodyLength::chunked(), true);
  StreamedUpload upload(services, attempt);
  Result<> relayed;
  std::exception_ptr failure;
  try {
    co_await upload.start();
    relayed = co_await relay_response(services, attempt);
  } catch (...) {
    failure = std::current_exception();
  }
  // The upload works on this frame: it ends before the frame does.
  co_await upload.stop();
  attempt.close_exchange();
  if (failure) std::rethrow_exception(failure);
  co_return relayed;
}

}  // namespace smg::relay
