#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace smg::routing {

/// What a worker does of a request.
enum class WorkerRole : std::uint8_t {
  Regular,  ///< all of it
  Prefill,  ///< reads the prompt and hands its cache over to a decode worker
  Decode,   ///< generates from the cache of a prefill worker
};

inline constexpr std::array kWorkerRoles{WorkerRole::Regular, WorkerRole::Prefill,
                                         WorkerRole::Decode};

/// `worker_type` in the workers API and in metrics.
[[nodiscard]] constexpr std::string_view name_of(WorkerRole role) noexcept {
  constexpr std::string_view kNames[] = {"regular", "prefill", "decode"};
  return kNames[static_cast<std::size_t>(role)];
}

/// What the two workers of a pair must agree on, as far as both tell (router modes, section 1): the
/// engine, how caches travel, and how they are laid out. An empty part is not known.
class PairingKey {
 public:
  PairingKey() = default;
  /// Of a worker's runtime type, KV connector and labels.
  PairingKey(std::string_view runtime, std::string_view kv_connector,
             const std::map<std::string, std::string>& labels);
  /// Of an explicit `pairing_protocol`, which takes the place of all that: the same three parts,
  /// divided by slashes; "?" and what is left out are not known.
  explicit PairingKey(std::string_view protocol);

  [[nodiscard]] bool agrees_with(const PairingKey& other) const noexcept;

  /// `runtime/transport/layout` with "?" for what is not known: `pd_pairing` in `GET /workers`.
  [[nodiscard]] std::string text() const;

 private:
  /// Runtime, transport; of the layout cache type, page size, attention backend, model type.
  std::array<std::string, 6> parts_;
};

/// How vLLM workers hand over their caches, by the prefill worker's `kv_connector`.
enum class KvTransfer : std::uint8_t { Passthrough, Nixl, Mooncake };

/// The label `mode` of metrics.
[[nodiscard]] constexpr std::string_view name_of(KvTransfer mode) noexcept {
  constexpr std::string_view kNames[] = {"passthrough", "nixl", "mooncake"};
  return kNames[static_cast<std::size_t>(mode)];
}

[[nodiscard]] KvTransfer kv_transfer_of(std::string_view kv_connector) noexcept;

/// What prefill/decode dispatch needs to know of a worker.
struct PdFacts {
  WorkerRole role = WorkerRole::Regular;
  std::string host;                             ///< of its URL, an IPv6 address in brackets
  std::optional<std::uint16_t> bootstrap_port;  ///< where decode workers fetch the cache
  std::string kv_connector;                     ///< vLLM's, such as NixlConnector
  std::string kv_engine_id;                     ///< vLLM's
  PairingKey pairing;
};

}  // namespace smg::routing
