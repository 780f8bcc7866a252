#include <algorithm>

#include <smg/base/text.hpp>
#include <smg/routing/pd_pairing.hpp>

namespace smg::routing {
namespace {

using Labels = std::map<std::string, std::string>;

constexpr std::size_t kRuntime = 0;
constexpr std::size_t kTransport = 1;
constexpr std::size_t kLayout = 2;

std::string first_label(const Labels& labels, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto found = labels.find(name);
    if (found != labels.end() && !found->second.empty()) return found->second;
  }
  return {};
}

std::string transport_of(std::string_view runtime, std::string_view kv_connector,
                         const Labels& labels) {
  if (runtime == "sglang") {
    return text::to_lower(first_label(labels, {"disaggregation_transfer_backend"}));
  }
  const std::string connector = text::to_lower(kv_connector);
  for (const std::string_view known : {"nixl", "mooncake"}) {
    if (connector.find(known) != std::string::npos) return std::string(known);
  }
  return {};
}

/// Cuts the text up to `mark` off its front. "?" stands for nothing.
std::string take_part(std::string_view& text, char mark) {
  const auto part = text.substr(0, text.find(mark));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part == "?" ? std::string() : std::string(part);
}

std::string_view or_unknown(const std::string& part) noexcept {
  return part.empty() ? std::string_view("?") : std::string_view(part);
}

}  // namespace

PairingKey::PairingKey(std::string_view runtime, std::string_view kv_connector,
                       const Labels& labels) {
  if (runtime != "unspecified" && runtime != "generic") parts_[kRuntime] = runtime;
  parts_[kTransport] = transport_of(runtime, kv_connector, labels);
  parts_[kLayout] = first_label(labels, {"kv_cache_dtype"});
  parts_[kLayout + 1] = first_label(labels, {"page_size", "block_size"});
  parts_[kLayout + 2] = first_label(labels, {"attention_backend"});
  parts_[kLayout + 3] = first_label(labels, {"model_dtype"});
}

PairingKey::PairingKey(std::string_view protocol) {
  parts_[kRuntime] = take_part(protocol, '/');
  parts_[kTransport] = take_part(protocol, '/');
  for (std::size_t i = kLayout; i < parts_.size(); ++i) parts_[i] = take_part(protocol, '+');
}

bool PairingKey::agrees_with(const PairingKey& other) const noexcept {
  return std::equal(
      parts_.begin(), parts_.end(), other.parts_.begin(),
      [](const std::string& a, const std::string& b) { return a.empty() || b.empty() || a == b; });
}

std::string PairingKey::text() const {
  std::string text(or_unknown(parts_[kRuntime]));
  text += '/';
  text += or_unknown(parts_[kTransport]);
  text += '/';
  const bool knows_layout = std::any_of(parts_.begin() + kLayout, parts_.end(),
                                        [](const std::string& part) { return !part.empty(); });
  if (!knows_layout) return text + '?';
  for (std::size_t i = kLayout; i < parts_.size(); ++i) {
    if (i > kLayout) text += '+';
    text += or_unknown(parts_[i]);
  }
  return text;
}

KvTransfer kv_transfer_of(std::string_view kv_connector) noexcept {
  if (kv_connector == "NixlConnector") return KvTransfer::Nixl;
  return kv_connector == "MooncakeConnector" ? KvTransfer::Mooncake : KvTransfer::Passthrough;
}

}  // namespace smg::routing
