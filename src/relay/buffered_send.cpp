#include "relay/buffered_send.hpp"

#include "relay/buffered_request.hpp"

namespace smg::relay {

net::Task<Result<const http::ResponseHead*>> BufferedSend::run(
    std::span<const std::string_view> pieces, std::uint64_t size) {
  auto head = co_await send_once(pieces, size, upstream::Reuse::Yes);
  if (head) co_return head;
  const bool resend = head.error().code == ErrorCode::UpstreamConnect &&
                      !attempt_.response_begun() && !attempt_.was_cut() && size < kOneShotBytes;
  if (!resend) co_return head;
  co_await finish();
  services_.metrics.count_send_retry();
  head = co_await send_once(pieces, size, upstream::Reuse::No);
  co_return head;
}

net::Task<Result<const http::ResponseHead*>> BufferedSend::send_once(
    std::span<const std::string_view> pieces, std::uint64_t size, upstream::Reuse reuse) {
  auto opened = co_await attempt_.open(reuse);
  if (!opened) co_return opened.error();
  observer_.send_begins();
  write_upstream_head(attempt_, services_, http::BodyLength::known(size), false);
  upload_.emplace(attempt_, [this] { observer_.all_sent(); });
  upload_->start(pieces);
  auto head = co_await attempt_.read_head();
  co_return head;
}

net::Task<> BufferedSend::finish() {
  if (upload_ && upload_->is_running()) co_await upload_->stop();
  upload_.reset();
  attempt_.close_exchange();
}

}  // namespace smg::relay
