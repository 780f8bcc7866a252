#pragma once

#include "relay/services.hpp"
#include <smg/relay/inference_relay.hpp>
#include <smg/routing/selection.hpp>
#include <smg/upstream/host_pool.hpp>

namespace smg::relay {

/// Who ends an attempt when the client leaves. A client tells only one.
enum class ClientWatch : std::uint8_t {
  Own,     ///< the attempt itself
  OfPair,  ///< the owner of several attempts that run side by side
};

/// One dispatch of a request to a chosen worker: what may cut it off (the worker's time limit, a
/// client that leaves), the exchange it runs on, and the verdict for the worker. Joined before it
/// goes.
class Attempt {
 public:
  Attempt(const Services& services, RequestContext& request,
          std::unique_ptr<routing::Selection> selection, ClientWatch watch = ClientWatch::Own);
  ~Attempt();
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  /// Opens an exchange with the worker. Errors: as of HostPool::open, or why the attempt was cut
  /// off.
  [[nodiscard]] net::Task<Result<>> open(upstream::Reuse reuse = upstream::Reuse::Yes);

  /// As `open`, if it need not wait. False: it would have to.
  [[nodiscard]] bool try_open();

  /// The worker's response head, once `open` has succeeded and the request is on its way: as
  /// UpstreamExchange::try_read_head, or why the attempt was cut off.
  [[nodiscard]] std::optional<Result<const http::ResponseHead*>> try_read_head();

  /// Cuts the attempt off with `why`: everything pending fails with it. Only the first call counts.
  void cut(GatewayError why);

  /// Leaves the attempt no more than this, from now on.
  void hurry(net::Duration left);

  /// Gives the exchange up or back, so that another may be opened.
  void close_exchange() noexcept;

  [[nodiscard]] upstream::UpstreamExchange& exchange() noexcept { return *exchange_; }
  [[nodiscard]] routing::Worker& worker() const noexcept { return selection_->worker(); }
  [[nodiscard]] RequestContext& request() noexcept { return request_; }
  [[nodiscard]] observability::AttemptTrace& trace() noexcept { return trace_; }
  [[nodiscard]] bool response_begun() const noexcept { return response_begun_; }
  [[nodiscard]] bool was_cut() const noexcept { return cut_.has_value(); }

  /// The last bytes are about to go to the client: the worker is free again, and by the time the
  /// client has them its next request finds it so. A client that is behind keeps the worker
  /// counted.
  void about_to_complete() {
    if (request_.client.behind()) return;
    selection_->release_load();
    if (request_.about_to_complete) request_.about_to_complete();
  }

  /// The worker's part in a request that goes on without it is over.
  void retire() noexcept {
    deadline_.disarm();
    trace_.end();
    selection_->release_load();
  }

  /// Settles the breaker and counts the attempt by its status, or by the error that it ended in.
  void settle(int status);
  void settle(const GatewayError& error);
  /// A response whose head was counted has broken off by the worker's fault, or because the client
  /// left.
  void settle_broken(const GatewayError& error);
  void settle_completed(int status);
  void count_response(int status);

 private:
  void count_worker_error();

  const Services& services_;
  RequestContext& request_;
  std::unique_ptr<routing::Selection> selection_;
  const ClientWatch watch_;
  observability::AttemptTrace trace_;
  net::Deadline deadline_;
  net::AbortSwitch connecting_;
  upstream::UpstreamExchangePtr exchange_;
  std::optional<GatewayError> cut_;
  bool response_begun_ = false;
};

/// Writes a request's head to the exchange of an attempt.
void write_upstream_head(Attempt& attempt, const Services& services, http::BodyLength length,
                         bool keep_content_encoding);

}  // namespace smg::relay
