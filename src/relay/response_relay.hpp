#pragma once

#include "relay/attempt.hpp"
#include <smg/base/body_buffer.hpp>

namespace smg::relay {

namespace pd {
class LogprobStream;
}

/// Whether a response is relayed as it arrives, judged by its media type.
[[nodiscard]] bool is_event_stream(const http::ResponseHead& head) noexcept;

/// Relays a response as it arrives: each read of the worker is one write to the client, through the
/// client's bounded queue. `default_content_type` stands in for a missing one on a 2xx (ruling 8);
/// empty: nothing does. `merging`, if it is not null, changes an event stream on its way. Settles
/// the attempt when the body ends. An error means that the response broke off.
[[nodiscard]] net::Task<Result<>> relay_stream(const Services& services, Attempt& attempt,
                                               const http::ResponseHead& head,
                                               std::string_view default_content_type,
                                               pd::LogprobStream* merging = nullptr);

/// Records the time to the first byte of a stream.
void observe_first_byte(const Services& services, const RequestContext& request);

/// Reads a response body whole, up to --max-payload-size. Errors: UpstreamBodyFailed (504 when its
/// time ran out), UpstreamResponseTooLarge, or why the attempt was cut off.
[[nodiscard]] net::Task<Result<BodyBuffer>> read_whole(const Services& services, Attempt& attempt,
                                                       const http::ResponseHead& head);

/// Whether the client gets the worker's very bytes.
enum class Content : std::uint8_t { AsReceived, Changed };

/// Sends a response that was read whole, with its Content-Length.
[[nodiscard]] net::Task<Result<>> send_whole(Attempt& attempt, const http::ResponseHead& head,
                                             BodyBuffer body,
                                             Content content = Content::AsReceived);

/// Reads a response that nobody wants, to keep its connection, if it is short and comes at once.
[[nodiscard]] net::Task<> discard_short(const Services& services, Attempt& attempt,
                                        const http::ResponseHead& head);

}  // namespace smg::relay
