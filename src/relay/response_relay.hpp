#pragma once

#include "relay/attempt.hpp"

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

/// Reads a response that nobody wants, to keep its connection, if it is short and comes at once.
[[nodiscard]] net::Task<> discard_short(const Services& services, Attempt& attempt,
                                        const http::ResponseHead& head);

}  // namespace smg::relay
