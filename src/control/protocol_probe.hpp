#pragma once

#include "control/cancel_scope.hpp"
#include "control/worker_spec.hpp"
#include <smg/config/gateway_config.hpp>

namespace smg::control {

/// Which HTTP versions a worker is tried with before it is registered (the page, "Upstream
/// HTTP/2").
enum class VersionChoice : std::uint8_t {
  Http1,
  Http2,
  Both,  ///< asked in both at once; HTTP/2 if it answers well there
  Alpn,  ///< TLS negotiates
};

/// A pin in the spec decides; else TLS for https:// workers, and the flag for http:// ones.
[[nodiscard]] VersionChoice version_choice(const WorkerSpec& spec, bool upstream_http2) noexcept;

/// How a worker's health is asked for.
struct HealthQuestion {
  std::string endpoint;
  std::string api_key;
  net::Duration timeout{};
};

/// Where a worker is, and what may be made of a connection to it.
struct WorkerAddress {
  upstream::PoolDirectory* pools = nullptr;
  upstream::Origin origin;
  upstream::PoolSettings settings;  ///< but for the version
  VersionChoice versions = VersionChoice::Http1;
};

/// Asks a worker for its health once, in each version that it may speak. The pool of the version
/// that is chosen, from then on until the worker registers again. Errors: why it is not healthy.
[[nodiscard]] net::Task<Result<std::shared_ptr<upstream::HostPool>>> probe_protocol(
    CancelScope& scope, const WorkerAddress& address, const HealthQuestion& question);

/// One health check: nothing if the endpoint answered 2xx, else what happened instead.
[[nodiscard]] net::Task<Result<>> check_health(CancelScope& scope,
                                               std::shared_ptr<upstream::HostPool> pool,
                                               HealthQuestion question);

}  // namespace smg::control
