#pragma once

#include "relay/attempt.hpp"
#include "relay/prompt_logprobs.hpp"

namespace smg::relay {

/// Relays an event stream with the logprobs of its prompt merged into it. Each event goes through
/// the client's queue; one that is larger than a chunk is waited for.
[[nodiscard]] net::Task<Result<>> relay_merged(const Services& services, Attempt& attempt,
                                               pd::LogprobStream& merging);

}  // namespace smg::relay
