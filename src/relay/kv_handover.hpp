#pragma once

#include <string>

#include <smg/routing/worker.hpp>

namespace smg::relay::pd {

/// How a prefill worker of vLLM hands its cache to a decode worker: the `kv_transfer_params` of
/// their requests (router modes, section 1b).
struct KvHandover {
  routing::KvTransfer mode = routing::KvTransfer::Passthrough;
  std::string prefill;  ///< JSON for the prefill worker; empty: none
  std::string decode;   ///< JSON for the decode worker; empty: what prefill's answer has
};

/// By the prefill worker's connector. Mooncake needs its engine id and bootstrap port, and of an
/// engine with several data-parallel ranks a worker that is one of them: else prefill is asked
/// without parameters.
[[nodiscard]] KvHandover plan_handover(const routing::WorkerFacts& prefill);

}  // namespace smg::relay::pd
