#pragma once

#include "relay/buffered_request.hpp"

namespace smg::relay {

/// Brings a buffered request to pairs of workers, one that prefills and one that decodes, as often
/// as the retry settings allow (router modes, section 1). The engine of the prefill worker decides
/// how: vLLM's two are asked one after the other, all others side by side. The client gets
/// decode's answer.
[[nodiscard]] net::Task<Result<>> run_pairs(BufferedRequest& request);

}  // namespace smg::relay
