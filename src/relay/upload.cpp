#include "relay/upload.hpp"

namespace smg::relay {
namespace {

/// Bytes from which setting up a pipe costs less than copying.
constexpr std::uint64_t kWorthAPipe = net::Pipe::kBytes;

}  // namespace

StreamedUpload::StreamedUpload(const Services& services, Attempt& attempt)
    : services_(services),
      attempt_(attempt),
      stall_(attempt.request().client.thread().deadlines(),
             [this] {
               stalled_ = true;
               attempt_.request().client.cancel_read();
             }),
      task_(attempt.request().client.thread().executor()) {}

void StreamedUpload::start() {
  auto& client = attempt_.request().client;
  // The worker learns of the request before its body is there; bytes that came along leave with the
  // head.
  bool going_on = true;
  if (client.body_ended()) {
    all_sent_ = attempt_.exchange().send({}, true);
  } else {
    std::optional<Result<std::size_t>> got;
    if (client.body_ready()) got = client.try_read_body(client.thread().scratch());
    if (got) {
      going_on = forward(*got, nullptr);
    } else {
      attempt_.exchange().flush();
    }
  }
  if (going_on && !(client.body_ended() && all_sent_)) task_.spawn(run());
}

net::Task<> StreamedUpload::stop() {
  stopping_ = true;
  attempt_.request().client.cancel_read();
  attempt_.exchange().abort(fail(ErrorCode::Aborted));
  co_await task_.join();
}

/// The stall clock stands while the worker holds the upload back: the client is not asked for bytes
/// then.
net::Task<> StreamedUpload::run() {
  for (;;) {
    auto flushed = co_await attempt_.exchange().flushed();
    if (!flushed || attempt_.request().client.body_ended()) co_return;
    const bool going_on = co_await forward_piece();
    if (!going_on) co_return;
  }
}

/// Waits for bytes of the client, on the stall clock, and passes them on. False: the client failed.
net::Task<bool> StreamedUpload::forward_piece() {
  auto& client = attempt_.request().client;
  net::Pipe* const pipe = pipe_for_rest();
  const auto scratch = client.thread().scratch();
  stall_.arm(services_.config.limits.stream_body_stall_timeout);
  auto got = co_await (pipe != nullptr ? client.read_body_into(*pipe) : client.read_body(scratch));
  stall_.disarm();
  co_return forward(got, pipe);
}

/// Passes on what was read into the pipe, or else into the thread's scratch. False: the client
/// failed.
bool StreamedUpload::forward(const Result<std::size_t>& got, net::Pipe* pipe) {
  if (!got) {
    fail_client(got.error());
    return false;
  }
  auto& client = attempt_.request().client;
  auto& exchange = attempt_.exchange();
  forwarded_ += *got;
  const auto limit = services_.config.limits.max_payload_size;
  if (forwarded_ > limit) {
    attempt_.cut(
        fail(ErrorCode::BodyTooLarge, "Request body exceeded " + std::to_string(limit) + " bytes"));
    return false;
  }
  if (pipe != nullptr) {
    all_sent_ = exchange.send_from(*pipe, *got, client.body_ended());
    return true;
  }
  const std::string_view piece(client.thread().scratch().data(), *got);
  all_sent_ = exchange.send({&piece, 1}, client.body_ended());
  if (!all_sent_) exchange.keep_unsent();
  return true;
}

/// The pipe through which the rest of a large body passes; nullptr where it has to be copied.
net::Pipe* StreamedUpload::pipe_for_rest() {
  const auto bytes = attempt_.request().client.spliceable_bytes();
  if (bytes == 0 || pipe_refused_ || !attempt_.exchange().takes_pipe()) return nullptr;
  if (!pipe_ && bytes >= kWorthAPipe) {
    pipe_ = net::Pipe::open();
    pipe_refused_ = !pipe_;
  }
  return pipe_.get();
}

void StreamedUpload::fail_client(const GatewayError& error) {
  if (stalled_) {
    const auto seconds = services_.config.limits.stream_body_stall_timeout.count();
    attempt_.cut(fail(ErrorCode::BodyStalled, "No request body bytes arrived from the client for " +
                                                  std::to_string(seconds) + " seconds"));
  } else if (!stopping_) {
    attempt_.cut(error);
  }
}

BufferedUpload::BufferedUpload(Attempt& attempt, std::function<void()> sent)
    : attempt_(attempt),
      sent_(std::move(sent)),
      task_(attempt.request().client.thread().executor()) {}

void BufferedUpload::start(std::span<const std::string_view> pieces) {
  if (attempt_.exchange().send(pieces, true)) {
    sent_();
  } else {
    task_.spawn(run());
  }
}

net::Task<> BufferedUpload::run() {
  auto flushed = co_await attempt_.exchange().flushed();
  if (flushed) sent_();
}

net::Task<> BufferedUpload::stop() {
  // The response is over, or will not come: a worker that has not taken the request by now will
  // not.
  attempt_.exchange().abort(fail(ErrorCode::Aborted));
  co_await task_.join();
}

}  // namespace smg::relay
