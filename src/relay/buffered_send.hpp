#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "relay/upload.hpp"

namespace smg::relay {

/// Told how far a send has come.
class SendObserver {
 public:
  /// A connection is there: the first byte is about to leave.
  virtual void send_begins() = 0;
  /// The kernel has taken the last byte.
  virtual void all_sent() = 0;

 protected:
  ~SendObserver() = default;
};

/// Sends a buffered body to an attempt's worker and waits for the head of its answer; once more, to
/// the same worker, if that fails before the worker has said anything (ruling 18).
class BufferedSend {
 public:
  BufferedSend(const Services& services, Attempt& attempt, SendObserver& observer)
      : services_(services), attempt_(attempt), observer_(observer) {}

  /// The pieces stay in place until all is sent, or until `finish`. Called once. Errors: as of
  /// Attempt::open and UpstreamExchange::read_head. Also when it ends with an exception, `finish`
  /// follows.
  [[nodiscard]] net::Task<Result<const http::ResponseHead*>> run(
      std::span<const std::string_view> pieces, std::uint64_t size);

  /// Gives up what is unsent, and the exchange up or back. Idempotent; waited for before this
  /// object goes.
  [[nodiscard]] net::Task<> finish();

  /// As `finish`, if nothing is left unsent. False: it has to be waited for.
  [[nodiscard]] bool try_finish() noexcept;

 private:
  void start(std::span<const std::string_view> pieces, std::uint64_t size);

  const Services& services_;
  Attempt& attempt_;
  SendObserver& observer_;
  std::optional<BufferedUpload> upload_;
};

}  // namespace smg::relay
