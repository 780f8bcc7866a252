#include "relay/buffered_send.hpp"

#include "relay/buffered_request.hpp"

namespace smg::relay {

net::Task<Result<const http::ResponseHead*>> BufferedSend::run(
    std::span<const std::string_view> pieces, std::uint64_t size) {
  auto reuse = upstream::Reuse::Yes;
  for (;;) {
    Result<> opened;
    const bool at_once = reuse == upstream::Reuse::Yes && attempt_.try_open();
    if (!at_once) opened = co_await attempt_.open(reuse);
    std::optional<Result<const http::ResponseHead*>> head;
    if (opened) {
      start(pieces, size);
      head = attempt_.try_read_head();
    } else {
      head = opened.error();
    }
    while (!head) {
      co_await attempt_.exchange().arrival();
      head = attempt_.try_read_head();
    }
    if (*head) co_return *head;
    const bool resend = head->error().code == ErrorCode::UpstreamConnect &&
                        !attempt_.response_begun() && !attempt_.was_cut() && size < kOneShotBytes &&
                        reuse == upstream::Reuse::Yes;
    if (!resend) co_return *head;
    co_await finish();
    services_.metrics.count_send_retry();
    reuse = upstream::Reuse::No;
  }
}

void BufferedSend::start(std::span<const std::string_view> pieces, std::uint64_t size) {
  observer_.send_begins();
  write_upstream_head(attempt_, services_, http::BodyLength::known(size), false);
  upload_.emplace(attempt_, [this] { observer_.all_sent(); });
  upload_->start(pieces);
}

net::Task<> BufferedSend::finish() {
  if (upload_ && upload_->is_running()) co_await upload_->stop();
  static_cast<void>(try_finish());
}

bool BufferedSend::try_finish() noexcept {
  if (upload_ && upload_->is_running()) return false;
  upload_.reset();
  attempt_.close_exchange();
  return true;
}

}  // namespace smg::relay
