#pragma once

#include "upstream/h2_hub.hpp"

namespace smg::upstream {

/// A request on an HTTP/2 stream, as the relay sees it. Owns nothing of the connection: it sends
/// messages to the hub's thread, and keeps what the stream has sent until it is read, at most one
/// stream window.
class H2Exchange final : public UpstreamExchange {
 public:
  H2Exchange(std::shared_ptr<H2Hub> hub, net::IoThread& thread);
  ~H2Exchange() override;

  /// An event of the stream, on this exchange's thread.
  void take(H2StreamEvent event);

  // UpstreamExchange
  void write_head(const UpstreamRequest& request) override;
  void flush() override;
  bool send(std::span<const std::string_view> pieces, bool last) override;
  void keep_unsent() override;
  net::Task<Result<>> flushed() override;
  std::optional<Result<const http::ResponseHead*>> try_read_head() override;
  std::optional<Result<std::size_t>> try_read_body(std::span<char> into) override;
  net::Task<> arrival() override { return read_gate_.wait(); }
  bool body_ready() const noexcept override { return !received_.empty(); }
  bool body_ended() const noexcept override { return ended_ && received_.empty(); }
  bool response_begun() const noexcept override { return response_begun_; }
  void abort(GatewayError why) noexcept override;
  void release() noexcept override;

 private:
  void start();
  void hand_over_unsent();
  void fail_with(GatewayError why) noexcept;
  void take_head(http::H2FieldBlock block, bool ends);

  std::shared_ptr<H2Hub> hub_;
  net::IoThread& thread_;
  H2LinkPtr link_;
  net::Gate read_gate_;
  net::Gate write_gate_;

  bool started_ = false;
  bool request_ended_ = false;
  bool sending_ = false;  ///< the stream may be reading `unsent_`
  std::vector<std::string_view> unsent_;
  std::string kept_;
  bool unsent_last_ = false;

  http::ResponseHead head_;
  bool have_head_ = false;
  bool response_begun_ = false;
  bool ended_ = false;
  std::deque<std::string> received_;
  std::size_t received_offset_ = 0;
  std::uint64_t unreported_ = 0;  ///< bytes read since the stream was last told
  std::optional<GatewayError> failed_;
};

}  // namespace smg::upstream
