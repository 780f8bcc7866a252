#pragma once

#include <memory>
#include <string>

#include <smg/base/result.hpp>
#include <smg/net/byte_stream.hpp>
#include <smg/net/io_thread.hpp>

namespace smg::net {

/// Takes over a connected TCP socket: non-blocking, TCP_NODELAY set (the page, "No Nagle delay").
[[nodiscard]] std::unique_ptr<ByteStream> adopt_tcp(IoThread& thread, int descriptor);

/// Lets a pending operation be given up by somebody else: `abort` is what ends it, while it runs.
class AbortSwitch {
 public:
  /// Ends the running operation, and every later one at its start. Idempotent.
  void abort() {
    aborted_ = true;
    if (on_abort_) std::exchange(on_abort_, nullptr)();
  }
  [[nodiscard]] bool aborted() const noexcept { return aborted_; }
  void set(std::function<void()> on_abort) { on_abort_ = std::move(on_abort); }
  void clear() noexcept { on_abort_ = nullptr; }

 private:
  bool aborted_ = false;
  std::function<void()> on_abort_;
};

/// Resolves and connects within `timeout` (zero: no limit). Errors: UpstreamTimeout, LocalResources
/// (descriptors or ports ran out), Aborted, and UpstreamConnect for all the rest.
[[nodiscard]] Task<Result<std::unique_ptr<ByteStream>>> connect_tcp(
    IoThread& thread, std::string host, std::uint16_t port, Duration timeout, AbortSwitch& abort);

}  // namespace smg::net
