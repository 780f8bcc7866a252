#include <algorithm>

#include <smg/base/text.hpp>
#include <smg/config/ip_literal.hpp>
#include <smg/config/normalise.hpp>
#include <smg/config/worker_url.hpp>

namespace smg::config {
namespace {

void drop_repeats(std::vector<std::string>& values) {
  std::vector<std::string> unique;
  for (auto& value : values) {
    if (std::ranges::find(unique, value) == unique.end()) unique.push_back(std::move(value));
  }
  values = std::move(unique);
}

void normalise_url(std::string& text) {
  if (auto url = parse_worker_url(text)) text = std::move(url->text);
}

void normalise_modes(Modes& modes) {
  std::vector<PrefillUrl> unique;
  for (auto& worker : modes.prefill) {
    normalise_url(worker.url);
    if (std::ranges::find(unique, worker) == unique.end()) unique.push_back(std::move(worker));
  }
  modes.prefill = std::move(unique);
  for (auto& text : modes.decode) normalise_url(text);
  drop_repeats(modes.decode);
}

void normalise_header_names(std::vector<std::string>& names) {
  for (auto& name : names) name = text::to_lower(name);
  drop_repeats(names);
}

/// A worker may switch its own breaker on, and then inherits what nobody checks while the flag
/// switches all others off. A breaker that closes after no success at all would never close.
void make_disabled_breaker_sound(CircuitBreaker& breaker) {
  if (!breaker.disabled) return;
  breaker.failure_threshold = std::max(breaker.failure_threshold, 1U);
  breaker.success_threshold = std::max(breaker.success_threshold, 1U);
  breaker.timeout = std::max(breaker.timeout, Seconds{1});
}

}  // namespace

void normalise(GatewayConfig& config) {
  for (auto* host : {&config.listen.host, &config.observability.prometheus_host}) {
    if (auto address = ip_literal(*host)) *host = std::move(*address);
  }
  for (auto& text : config.fleet.worker_urls) normalise_url(text);
  drop_repeats(config.fleet.worker_urls);
  normalise_modes(config.modes);
  // Only discovery would bring a removed worker back.
  auto& remove_unhealthy = config.health.remove_unhealthy;
  remove_unhealthy = remove_unhealthy.value_or(config.discovery.enabled);
  make_disabled_breaker_sound(config.circuit_breaker);
  normalise_header_names(config.listen.request_id_headers);
  normalise_header_names(config.fleet.routing_key_headers);
  normalise_header_names(config.upstream.forward_request_headers);
}

}  // namespace smg::config
