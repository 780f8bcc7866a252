#pragma once

#include <functional>
#include <string>
#include <string_view>

#include <smg/upstream/host_pool.hpp>

namespace smg::upstream {

/// A small request of the gateway's own: probes, health checks, management calls.
struct FetchRequest {
  std::string method = "GET";
  std::string target;
  std::string api_key;        ///< sent as a Bearer credential unless empty
  std::string authorization;  ///< sent as it is instead, unless empty
  std::string body;
  std::string content_type;
  bool resend = true;                         ///< once, if the send fails before any response
  std::function<void()> on_resend = nullptr;  ///< called when that happens; may be empty
};

struct FetchedResponse {
  int status = 0;
  std::string content_type;
  std::string body;

  /// 2xx: redirects are never followed, and count as a failure (ruling 9).
  [[nodiscard]] bool ok() const noexcept { return status >= 200 && status < 300; }
};

/// One exchange over the worker's own pool, sent once more where the request allows it. The body is
/// read up to `limit` bytes. Errors: as of HostPool::open and UpstreamExchange, UpstreamTimeout
/// after `timeout`, UpstreamResponseTooLarge; Aborted after `abort`.
[[nodiscard]] net::Task<Result<FetchedResponse>> fetch(net::IoThread& thread,
                                                       std::shared_ptr<HostPool> pool,
                                                       FetchRequest request, net::Duration timeout,
                                                       std::size_t limit, net::AbortSwitch& abort);

/// Takes a piece of a body that goes on; false: no more of it is wanted.
using TakePiece = std::function<bool(std::string_view)>;

/// As `fetch`, for a response that goes on for a long time: the body of a 2xx is handed to `take`
/// piece by piece, and the result's is empty. `silence` is the longest wait for the next piece. It
/// also ends, without an error, when `take` wants no more; the connection is closed then.
[[nodiscard]] net::Task<Result<FetchedResponse>> fetch_stream(
    net::IoThread& thread, std::shared_ptr<HostPool> pool, FetchRequest request,
    net::Duration silence, std::size_t limit, TakePiece take, net::AbortSwitch& abort);

}  // namespace smg::upstream
