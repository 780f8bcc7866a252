#include "relay/routing_inputs.hpp"

#include <optional>
#include <string_view>
#include <utility>

#include <smg/relay/routing_text.hpp>
#include <smg/routing/hints.hpp>

namespace smg::relay {
namespace {

std::optional<std::string_view> value_if_there(const http::RequestHead& head,
                                               std::string_view name) noexcept {
  const http::Field* const field = head.find(name);
  return field != nullptr ? std::optional(field->value) : std::nullopt;
}

/// The first of the headers with a valid key decides: of another, the next one is looked at.
std::string_view session_header(const http::RequestHead& head,
                                const std::vector<std::string>& names) noexcept {
  for (const auto& name : names) {
    const auto value = head.value(name);
    if (!routing::session_key(value).empty()) return value;
  }
  return {};
}

}  // namespace

RoutingInputs::RoutingInputs(const http::RequestHead& head, const config::Fleet& fleet,
                             std::string_view model, const routing::PromptUse& use)
    : prompt_use_(use), has_sessions_(fleet.routing_key_override) {
  request_.model = model;
  request_.routing_key = head.value("x-smg-routing-key");
  request_.target_worker = head.value("x-smg-target-worker");
  if (has_sessions_) request_.session_header = session_header(head, fleet.routing_key_headers);
  request_.authorization = value_if_there(head, "authorization");
  request_.x_forwarded_for = value_if_there(head, "x-forwarded-for");
  request_.cookie = value_if_there(head, "cookie");
  if (prompt_use_.tokens) {
    auto hinted = routing::parse_tokens_hint(head.value("x-smg-routing-tokens"));
    if (hinted) tokens_ = std::move(*hinted);
    request_.tokens = tokens_;
  }
}

void RoutingInputs::add_body(InferenceRoute route, BodyBuffer& body, const BodyFields& fields) {
  if (has_sessions_ && fields.rid) {
    rid_ = *fields.rid;
    request_.rid = rid_;
  }
  if (!tokens_.empty()) return;
  RoutingPrompt prompt = read_prompt(route, body, prompt_use_);
  tokens_ = std::move(prompt.tokens);
  text_ = std::move(prompt.text);
  request_.tokens = tokens_;
  request_.text = text_;
}

void RoutingInputs::release_prompt() noexcept {
  request_.tokens = {};
  request_.text = {};
  // An assignment of nothing would keep the memory.
  tokens_.clear();
  tokens_.shrink_to_fit();
  text_.clear();
  text_.shrink_to_fit();
}

}  // namespace smg::relay
