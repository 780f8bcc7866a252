#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace smg {

/// The routes that carry work to a worker.
enum class InferenceRoute : std::uint8_t {
  Generate,
  ChatCompletions,
  Completions,
  Messages,
  Embeddings,
  Classify,
  RerankV1,
  Rerank,
  Responses,
};

inline constexpr std::size_t kInferenceRouteCount = 9;

/// What is fixed about a route.
struct RouteFacts {
  std::string_view path;
  std::string_view endpoint;           ///< the `endpoint` label of metrics
  std::string_view request_id_prefix;  ///< of a generated request id
  bool may_stream_body;                ///< the page: the six routes whose bodies may stream
  bool openai_errors;                  ///< body errors are OpenAI-style objects, not plain text
};

inline constexpr std::array<RouteFacts, kInferenceRouteCount> kRouteFacts{{
    {"/generate", "generate", "gnt-", true, false},
    {"/v1/chat/completions", "chat", "chatcmpl-", true, true},
    {"/v1/completions", "completions", "cmpl-", true, true},
    {"/v1/messages", "messages", "msg_", true, true},
    {"/v1/embeddings", "embeddings", "req-", true, false},
    {"/v1/classify", "classify", "req-", true, false},
    {"/v1/rerank", "rerank", "req-", false, false},
    {"/rerank", "rerank", "req-", false, false},
    {"/v1/responses", "responses", "resp-", false, true},
}};

[[nodiscard]] constexpr const RouteFacts& facts(InferenceRoute route) noexcept {
  return kRouteFacts[static_cast<std::size_t>(route)];
}

/// The route of an exact path, without its query.
[[nodiscard]] constexpr std::optional<InferenceRoute> inference_route(
    std::string_view path) noexcept {
  for (std::size_t i = 0; i < kInferenceRouteCount; ++i) {
    const auto route = static_cast<InferenceRoute>(i);
    if (facts(route).path == path) return route;
  }
  return std::nullopt;
}

}  // namespace smg
