#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <smg/base/body_buffer.hpp>
#include <smg/config/gateway_config.hpp>
#include <smg/config/inference_route.hpp>
#include <smg/http/message.hpp>
#include <smg/relay/request_body.hpp>
#include <smg/routing/worker_table.hpp>

namespace smg::relay {

/// What a request's worker is selected by, and the memory behind it.
class RoutingInputs {
 public:
  /// The inputs of a request in `pool` that its head gives; the streamed path has no others. `head`
  /// and `pool` outlive this object.
  RoutingInputs(const http::RequestHead& head, const config::Fleet& fleet,
                const routing::ModelPool& pool)
      : RoutingInputs(head, fleet, pool.model, pool.policy->prompt_use()) {}

  /// The same for workers of several pools of one model, whose policies look at `use`.
  RoutingInputs(const http::RequestHead& head, const config::Fleet& fleet, std::string_view model,
                const routing::PromptUse& use);
  RoutingInputs(const RoutingInputs&) = delete;
  RoutingInputs& operator=(const RoutingInputs&) = delete;

  /// Adds those of a body in which inspect_body() has found `fields`: the session, and the prompt
  /// as far as the pool's policy looks at it and the head has no hint instead.
  void add_body(InferenceRoute route, BodyBuffer& body, const BodyFields& fields);

  /// For select_worker; views this object.
  [[nodiscard]] const routing::RoutingRequest& request() const noexcept { return request_; }

  /// Frees the prompt, when nothing will be selected any more.
  void release_prompt() noexcept;

 private:
  const routing::PromptUse prompt_use_;
  const bool has_sessions_;
  routing::RoutingRequest request_;
  std::string rid_;
  std::string text_;
  std::vector<std::uint32_t> tokens_;
};

}  // namespace smg::relay
