#pragma once

#include <optional>

#include "relay/attempt.hpp"
#include <smg/base/body_buffer.hpp>

namespace smg::relay {

/// Whether the client gets the worker's very bytes.
enum class Content : std::uint8_t { AsReceived, Changed };

/// A response that is read whole before its head goes to the client. What `try_…` does needs no
/// waiting, nor a coroutine; nullopt: the other one has to go on from there.
class WholeResponse {
 public:
  /// All three must outlive the response.
  WholeResponse(const Services& services, Attempt& attempt, const http::ResponseHead& head)
      : services_(services), attempt_(attempt), head_(head) {}
  WholeResponse(const WholeResponse&) = delete;
  WholeResponse& operator=(const WholeResponse&) = delete;

  /// Reads the body to its end, up to --max-payload-size. Errors: UpstreamBodyFailed (504 when its
  /// time ran out), UpstreamResponseTooLarge, or why the attempt was cut off.
  [[nodiscard]] std::optional<Result<>> try_read();
  [[nodiscard]] net::Task<Result<>> read();

  /// What was read; may be exchanged for another.
  [[nodiscard]] BodyBuffer& body() noexcept { return body_; }

  /// Sends head and body to the client, with a Content-Length. Error: ClientGone.
  [[nodiscard]] std::optional<Result<>> try_send(Content content = Content::AsReceived);
  [[nodiscard]] net::Task<Result<>> send(Content content = Content::AsReceived);

 private:
  [[nodiscard]] std::span<char> room();
  [[nodiscard]] Result<> accept(const Result<std::size_t>& got);
  void write_head(Content content);
  void write_piece();
  [[nodiscard]] GatewayError too_large() const;

  const Services& services_;
  Attempt& attempt_;
  const http::ResponseHead& head_;
  BodyBuffer body_;
  bool begun_ = false;    ///< the head is written, and a first piece, maybe of nothing
  std::size_t sent_ = 0;  ///< of the body, to the client
};

}  // namespace smg::relay
