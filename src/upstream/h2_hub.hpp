#pragma once

#include <list>

#include "upstream/h2_stream_link.hpp"
#include <smg/upstream/host_pool.hpp>

namespace smg::upstream {

/// The HTTP/2 connections to one worker under one set of settings. They all live on the hub's home
/// thread, and there is one of them unless the worker's limit on concurrent streams is used up:
/// exchanges of all other threads reach it by message. All members run on the home thread except
/// where they say otherwise.
class H2Hub : public std::enable_shared_from_this<H2Hub> {
 public:
  H2Hub(net::IoThread& home, net::TlsClient& tls, Origin origin, PoolSettings settings);
  ~H2Hub();

  /// Runs `work` on the home thread: at once when called there, else by message. From any thread.
  void run_at_home(std::function<void()> work);

  /// Gives a stream to a connection, now or as soon as there is one for it.
  void start(const H2LinkPtr& link);
  /// Takes more of a stream's body from the link.
  void body_added(const H2LinkPtr& link);
  /// The exchange has read bytes of the body.
  void consumed(const H2LinkPtr& link, std::uint64_t bytes);
  /// The exchange wants no more of the stream.
  void cancel(const H2LinkPtr& link);

  /// No connection outlives its streams from now on.
  void retire();

  [[nodiscard]] const Origin& origin() const noexcept { return origin_; }
  [[nodiscard]] const PoolSettings& settings() const noexcept { return settings_; }
  [[nodiscard]] net::IoThread& home() const noexcept { return home_; }

  /// From any thread.
  [[nodiscard]] ConnectionTotals totals() const noexcept;

  // For its connections.
  void deliver(H2StreamEvent event);
  void capacity_changed();
  /// The worker allows so many streams at a time. The least it has said counts for all connections:
  /// a worker that lowers its limit means itself, not the connection it says so on. 0 is for the
  /// moment only (RFC 9113 6.5.2), and for that connection.
  void limit_announced(std::size_t streams) noexcept {
    if (streams > 0) limit_ = std::min(limit_, streams);
  }
  [[nodiscard]] std::size_t stream_limit() const noexcept { return limit_; }
  /// A connection has come to carry streams, or carries none any more.
  void count_in_use(std::ptrdiff_t change) noexcept;
  void connection_ended(H2UpstreamConnection& connection);

 private:
  [[nodiscard]] H2UpstreamConnection* with_room() noexcept;
  [[nodiscard]] bool may_open_another() const noexcept;
  void count_open() noexcept;
  void open_connection();
  [[nodiscard]] net::Task<> connect(std::shared_ptr<H2Hub> self);
  void fail_waiting(const GatewayError& error);

  net::IoThread& home_;
  net::TlsClient& tls_;
  const Origin origin_;
  const PoolSettings settings_;
  std::list<std::unique_ptr<H2UpstreamConnection>> connections_;
  std::deque<H2LinkPtr> waiting_;
  std::size_t limit_ = static_cast<std::size_t>(-1);
  bool opening_ = false;
  net::AbortSwitch* connecting_ = nullptr;  ///< of the attempt that is on, if one is
  bool retired_ = false;
  std::atomic<std::size_t> open_{0};  ///< written on the home thread, read by all, as is the next
  std::atomic<std::size_t> in_use_{0};
};

}  // namespace smg::upstream
