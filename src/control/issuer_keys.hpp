#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "control/cancel_scope.hpp"
#include "control/refresh_allowance.hpp"
#include "control/web_keys.hpp"
#include <smg/config/gateway_config.hpp>
#include <smg/net/task_group.hpp>

namespace smg::control {

/// The key set of the token issuer: fetched from --jwt-jwks-uri, or from where the issuer's
/// discovery document says, at most once at a time, and used for an hour. Fetches run on io thread
/// 0; whoever needs their outcome waits on the own thread.
class IssuerKeys {
 public:
  using KeysPtr = std::shared_ptr<const WebKeys>;

  /// All arguments must outlive the keys, which go only after the io threads have stopped.
  IssuerKeys(const config::GatewayConfig& config, net::IoThreads& threads,
             upstream::PoolDirectory& pools);

  /// Begins to fetch them. From any thread.
  void prefetch();
  /// Gives up a fetch and waits for its end. On io thread 0.
  [[nodiscard]] net::Task<> stop();

  /// The keys, fetched first where there are none of the last hour; null if they cannot be had.
  /// `abort` gives the wait up.
  [[nodiscard]] net::Task<KeysPtr> current(net::IoThread& thread, net::AbortSwitch& abort);

  /// Keys fetched after those of `seen`, which lack one; null if there are none now.
  [[nodiscard]] net::Task<KeysPtr> newer_than(KeysPtr seen, net::IoThread& thread,
                                              net::AbortSwitch& abort);

 private:
  struct Waiter;

  /// With the lock held. False: no fetch is under way, and none may begin now.
  bool ensure_fetch();
  [[nodiscard]] KeysPtr fresh_keys() const;
  [[nodiscard]] net::Task<> wait_for_fetch(net::IoThread& thread, net::AbortSwitch& abort);

  // On thread 0.
  [[nodiscard]] net::Task<> run_fetch();
  [[nodiscard]] net::Task<Result<KeysPtr>> fetch_keys();
  [[nodiscard]] net::Task<Result<std::string>> find_key_set();
  [[nodiscard]] net::Task<Result<std::string>> get(std::string url);
  void finish(Result<KeysPtr> fetched);

  const config::Access& settings_;
  const net::Duration connect_timeout_;
  net::IoThread& home_;
  upstream::PoolDirectory& pools_;
  CancelScope scope_;
  net::TaskGroup tasks_;

  mutable std::mutex mutex_;
  KeysPtr keys_;
  net::TimePoint fetched_at_{};
  RefreshAllowance allowance_;
  bool fetching_ = false;
  std::vector<std::shared_ptr<Waiter>> waiting_;
};

/// Reads the key set's address from a discovery document of `issuer`. Errors: the document is
/// another issuer's, or names no usable address.
[[nodiscard]] Result<std::string> key_set_url(std::string_view document, std::string_view issuer);

}  // namespace smg::control
