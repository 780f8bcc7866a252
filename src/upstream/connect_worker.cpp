#include <smg/net/tcp_stream.hpp>
#include <smg/upstream/connect_worker.hpp>

namespace smg::upstream {
namespace {

std::vector<std::string> alpn_names(Offer offer) {
  switch (offer) {
    case Offer::Http1: return {"http/1.1"};
    case Offer::Http2: return {"h2"};
    case Offer::Either: break;
  }
  return {"h2", "http/1.1"};
}

}  // namespace

net::Task<Result<net::TlsClient::Connected>> connect_worker(net::IoThread& thread,
                                                            net::TlsClient& tls, Origin origin,
                                                            Offer offer, net::Duration timeout,
                                                            net::AbortSwitch& abort) {
  const auto started = thread.deadlines().now();
  auto tcp = co_await net::connect_tcp(thread, origin.host, origin.port, timeout, abort);
  if (!tcp) co_return tcp.error();
  if (!origin.tls) co_return net::TlsClient::Connected{std::move(*tcp), {}};
  // One limit for both; zero stays "no limit".
  const auto spent = thread.deadlines().now() - started;
  const auto left = timeout > net::Duration::zero()
                        ? std::max<net::Duration>(timeout - spent, std::chrono::milliseconds(1))
                        : timeout;
  auto connected = co_await tls.handshake(thread, std::move(*tcp), origin.host, origin.port,
                                          alpn_names(offer), left, abort);
  // A worker without ALPN speaks HTTP/1.1.
  if (connected && offer == Offer::Http2 && connected->protocol != "h2") {
    co_return fail(ErrorCode::UpstreamConnect, "The worker does not speak HTTP/2 over TLS");
  }
  co_return connected;
}

}  // namespace smg::upstream
