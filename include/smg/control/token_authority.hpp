#pragma once

#include <memory>
#include <string_view>

#include <smg/config/gateway_config.hpp>
#include <smg/control/access_guard.hpp>
#include <smg/net/io_thread.hpp>
#include <smg/upstream/host_pool.hpp>

namespace smg::control {

class IssuerKeys;

/// Judges tokens of the identity provider (spec, shell 5.2). It fails closed: without the issuer's
/// keys no token passes.
class TokenAuthority {
 public:
  /// All arguments must outlive the authority, which goes only after the io threads have stopped.
  TokenAuthority(const config::GatewayConfig& config, net::IoThreads& threads,
                 upstream::PoolDirectory& pools);
  ~TokenAuthority();
  TokenAuthority(const TokenAuthority&) = delete;
  TokenAuthority& operator=(const TokenAuthority&) = delete;

  /// Begins to fetch the issuer's keys, if tokens are configured.
  void start();
  /// On io thread 0.
  [[nodiscard]] net::Task<> stop();

  /// The verdict on a request whose credential the guard took for a token. On any io thread,
  /// `thread` being the caller's; may wait for the issuer, without blocking. `abort` gives that up;
  /// the verdict is of no use then.
  [[nodiscard]] net::Task<Verdict> judge(std::string_view token, net::IoThread& thread,
                                         net::AbortSwitch& abort);

 private:
  const config::Access& settings_;
  std::unique_ptr<IssuerKeys> keys_;
};

}  // namespace smg::control
