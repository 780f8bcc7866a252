#include "relay/merged_relay.hpp"

#include "relay/response_relay.hpp"

namespace smg::relay {
namespace {

constexpr std::size_t kReadBytes = 16 * 1024;
/// The queue is bounded by chunks of this size.
constexpr std::size_t kChunkBytes = 64 * 1024;

/// Sends one event. False: the client has left.
net::Task<bool> send_event(std::string_view event, http::ClientExchange& client) {
  client.write_body(event, false);
  bool there = true;
  if (event.size() > kChunkBytes) {
    there = co_await client.wait_until_drained();
  } else if (client.queue_full()) {
    there = co_await client.wait_for_room();
  }
  co_return there;
}

}  // namespace

net::Task<Result<>> relay_merged(const Services& services, Attempt& attempt,
                                 pd::LogprobStream& merging) {
  auto& client = attempt.request().client;
  auto& exchange = attempt.exchange();
  std::string event;
  bool first = true;
  while (!exchange.body_ended()) {
    const auto scratch = client.thread().scratch().first(kReadBytes);
    auto got = co_await exchange.read_body(scratch);
    if (!got) co_return got.error();
    if (std::exchange(first, false) && *got > 0) observe_first_byte(services, attempt.request());
    merging.feed({scratch.data(), *got});
    while (merging.next(event)) {
      const bool there = co_await send_event(event, client);
      if (!there) co_return fail(ErrorCode::ClientGone);
    }
  }
  client.write_body(merging.rest(), false);
  co_return Result<>();
}

}  // namespace smg::relay
