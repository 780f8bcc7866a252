#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "relay/body_members.hpp"
#include <smg/relay/request_body.hpp>

/// The bodies of the two workers that share a request: the client's bytes, edited in place.
namespace smg::relay::pd {

/// Sequences that one request may ask for: each gets fields of its own in the body.
inline constexpr std::size_t kMostSequences = 65536;

/// What is read of a body, and where it is edited.
struct PdBody {
  BodyMembers members;
  /// Sequences of a batch; nothing for a single one. A chat's `n` above 1, the length of an array
  /// `prompt` or `text`, the outer length of nested `input_ids`.
  std::optional<std::size_t> batch;
  bool several_samples = false;  ///< `n` is above 1
  bool wants_prompt_logprobs =
      false;  ///< /generate with `return_logprob`: prefill has some of them
};

/// Reads a body that inspect_body() has found valid for `route`. Errors: JsonRange for more than
/// kMostSequences, Internal if there is no memory.
[[nodiscard]] Result<PdBody> read_pd_body(InferenceRoute route, BodyBuffer& body);

/// A validated body and what is known of it; the views and references must outlive the edits.
struct PdSource {
  InferenceRoute route;
  std::string_view body;
  const BodyFields& fields;
  const PdBody& pd;
  std::optional<std::string_view> model;  ///< canonical id, if the client used another name
};

/// Data-parallel ranks of the two workers, where they have one.
struct PdRanks {
  std::optional<std::uint32_t> prefill;
  std::optional<std::uint32_t> decode;
};

/// Where a decode worker of SGLang meets its prefill worker.
struct Rendezvous {
  std::string_view host;
  std::optional<std::uint16_t> port;
  std::span<const std::uint64_t> rooms;  ///< one for each sequence, at least one
};

/// Fresh rooms, uniform in [0, 2^63 - 1], for a request with this body.
[[nodiscard]] std::vector<std::uint64_t> draw_rooms(const PdBody& pd);

/// What one of SGLang's two workers gets: the body with bootstrap_host, bootstrap_port and
/// bootstrap_room behind everything else, lists of them for a batch, and then the ranks. The
/// client's own fields of these names go.
[[nodiscard]] std::vector<BodySplice> parallel_body(const PdSource& source,
                                                    const Rendezvous& rendezvous,
                                                    const PdRanks& ranks, bool is_decode);

/// What a prefill worker of vLLM gets: not streamed, one token, and `kv_transfer_params` unless
/// they are empty.
[[nodiscard]] std::vector<BodySplice> prefill_body(const PdSource& source,
                                                   std::string_view kv_transfer_params,
                                                   const PdRanks& ranks);

/// What its decode worker gets: the body with `kv_transfer_params` unless they are empty.
[[nodiscard]] std::vector<BodySplice> decode_body(const PdSource& source,
                                                  std::string_view kv_transfer_params,
                                                  const PdRanks& ranks);

/// The text of the object `kv_transfer_params` at the top of a prefill worker's answer, as it is
/// written; nothing if there is none.
[[nodiscard]] std::optional<std::string> find_kv_transfer_params(BodyBuffer& answer);

}  // namespace smg::relay::pd
