#pragma once

#include <vector>

#include <smg/net/io_thread.hpp>
#include <smg/upstream/fetch.hpp>

namespace smg::control {

/// Everything that one job may be waiting for, so that the job can be given up: its waits then end
/// at once, and later ones do not begin. On one IoThread, several coroutines at a time.
class CancelScope {
 public:
  explicit CancelScope(net::IoThread& thread) : thread_(thread) {}
  CancelScope(const CancelScope&) = delete;
  CancelScope& operator=(const CancelScope&) = delete;

  /// Idempotent.
  void cancel();
  [[nodiscard]] bool cancelled() const noexcept { return cancelled_; }
  [[nodiscard]] net::IoThread& thread() const noexcept { return thread_; }

  /// As upstream::fetch; Aborted when the scope is cancelled.
  [[nodiscard]] net::Task<Result<upstream::FetchedResponse>> fetch(
      std::shared_ptr<upstream::HostPool> pool, upstream::FetchRequest request,
      net::Duration timeout, std::size_t limit);

  /// As upstream::fetch_stream; Aborted when the scope is cancelled.
  [[nodiscard]] net::Task<Result<upstream::FetchedResponse>> fetch_stream(
      std::shared_ptr<upstream::HostPool> pool, upstream::FetchRequest request,
      net::Duration silence, std::size_t limit, upstream::TakePiece take);

  /// Connects as upstream::connect_worker does, in whichever version; Aborted when the scope is
  /// cancelled.
  [[nodiscard]] net::Task<Result<net::TlsClient::Connected>> connect(upstream::PoolDirectory& pools,
                                                                     upstream::Origin origin,
                                                                     net::Duration timeout);

  /// Returns early when the scope is cancelled.
  [[nodiscard]] net::Task<> sleep(net::Duration duration);

 private:
  net::IoThread& thread_;
  bool cancelled_ = false;
  std::vector<net::AbortSwitch*> fetching_;
  std::vector<net::Gate*> sleeping_;
};

}  // namespace smg::control
