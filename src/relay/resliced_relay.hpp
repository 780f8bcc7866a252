#pragma once

#include "relay/attempt.hpp"

namespace smg::relay {

/// Whether the page's delta re-slicing applies to a response: a chat completion stream that the
/// parsed request asked for, of a model that the client named as a MiniMax one, answered as an
/// event stream that nothing else has coded.
[[nodiscard]] bool is_resliced(const RequestContext& request,
                               const http::ResponseHead& head) noexcept;

/// Relays a response body through the re-slicer. What it makes goes through the client's queue like
/// any other chunk: while the queue is full nothing more is made, and nothing more is read.
[[nodiscard]] net::Task<Result<>> relay_resliced(const Services& services, Attempt& attempt);

}  // namespace smg::relay
