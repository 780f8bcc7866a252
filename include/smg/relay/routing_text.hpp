#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <smg/base/body_buffer.hpp>
#include <smg/config/inference_route.hpp>
#include <smg/routing/policy.hpp>

namespace smg::relay {

/// The prompt of a request, as far as policies look at it.
struct RoutingPrompt {
  std::vector<std::uint32_t> tokens;  ///< of a batch, the first sequence
  std::string text;                   ///< UTF-8; empty if there are tokens
};

/// Reads the prompt out of a body that inspect_body() has found valid for `route`: the pieces that
/// the route's table (policies_and_workers of the specification, section 4) names, joined by single
/// spaces, without the empty ones. Neither role markers nor tools nor the model are part of it.
///
/// Only what `use` says is kept; a text may be cut within a character there. What has an unknown
/// form is left out, and there is no prompt if there is no memory to read it. `body` keeps its
/// bytes.
[[nodiscard]] RoutingPrompt read_prompt(InferenceRoute route, BodyBuffer& body,
                                        const routing::PromptUse& use);

}  // namespace smg::relay
