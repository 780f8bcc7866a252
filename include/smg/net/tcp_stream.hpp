#pragma once

#include <memory>
#include <string>

#include <smg/base/result.hpp>
#include <smg/net/byte_stream.hpp>
#include <smg/net/io_thread.hpp>

namespace smg::net {

/// Takes over a connected TCP socket that does not block, and has TCP_NODELAY set (the page, "No
/// Nagle delay").
[[nodiscard]] std::unique_ptr<ByteStream> adopt_tcp(IoThread& thread, int descriptor);

/// Resolves and connects within `timeout` (zero: no limit). Errors: UpstreamTimeout, LocalResources
/// (descriptors or ports ran out), Aborted, and UpstreamConnect for all the rest.
[[nodiscard]] Task<Result<std::unique_ptr<ByteStream>>> connect_tcp(
    IoThread& thread, std::string host, std::uint16_t port, Duration timeout, AbortSwitch& abort);

}  // namespace smg::net
