#pragma once

#include <smg/upstream/host_pool.hpp>

namespace smg::upstream {

/// Which HTTP versions a new connection may come to speak.
enum class Offer : std::uint8_t {
  Http1,
  Http2,   ///< by prior knowledge on cleartext connections
  Either,  ///< TLS only: as ALPN decides
};

/// Connects to a worker, through TLS where its URL says so. The protocol is "h2" or "http/1.1" as
/// TLS negotiated it, and empty on cleartext connections. Errors: as of net::connect_tcp and
/// TlsClient::handshake; UpstreamConnect if TLS settles on a version that was not offered.
[[nodiscard]] net::Task<Result<net::TlsClient::Connected>> connect_worker(
    net::IoThread& thread, net::TlsClient& tls, Origin origin, Offer offer, net::Duration timeout,
    net::AbortSwitch& abort);

}  // namespace smg::upstream
