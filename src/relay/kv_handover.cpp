#include "relay/kv_handover.hpp"

#include <optional>

#include <smg/base/text.hpp>
#include <smg/base/uuid.hpp>

namespace smg::relay::pd {
namespace {

using routing::KvTransfer;

constexpr std::string_view kProduce = R"("do_remote_decode":true,"do_remote_prefill":false)";
constexpr std::string_view kConsume = R"("do_remote_decode":false,"do_remote_prefill":true)";

/// The id under which the engine is known to others; nothing if it cannot be told.
std::optional<std::string> engine_id_of(const routing::WorkerFacts& facts) {
  const std::string& base = facts.pd.kv_engine_id;
  if (base.empty()) return std::nullopt;
  if (facts.rank && facts.rank->size > 1) return base + "_dp" + std::to_string(facts.rank->rank);
  if (facts.rank) return base;
  const auto label = facts.labels.find("dp_size");
  if (label == facts.labels.end()) return base;
  const auto ranks = text::parse_decimal(label->second);
  // Nobody knows on which of several ranks the cache will be.
  return ranks && *ranks <= 1 ? std::optional(base) : std::nullopt;
}

std::string object_of(std::initializer_list<std::string_view> parts) {
  std::string object = "{";
  for (const auto part : parts) object += part;
  return object + "}";
}

}  // namespace

KvHandover plan_handover(const routing::WorkerFacts& prefill) {
  KvHandover plan;
  plan.mode = routing::kv_transfer_of(prefill.pd.kv_connector);
  if (plan.mode == KvTransfer::Nixl) plan.prefill = object_of({kProduce});
  if (plan.mode != KvTransfer::Mooncake) return plan;
  const auto engine = engine_id_of(prefill);
  if (!engine || !prefill.pd.bootstrap_port) return plan;
  const std::string transfer = R"(,"transfer_id":"xfer-)" + make_uuid() + '"';
  const std::string from = R"(,"remote_engine_id":)" + text::json_quoted(*engine) +
                           R"(,"remote_bootstrap_addr":"http://)" + prefill.pd.host + ':' +
                           std::to_string(*prefill.pd.bootstrap_port) + '"';
  plan.prefill = object_of({kProduce, transfer});
  plan.decode = object_of({kConsume, transfer, from});
  return plan;
}

}  // namespace smg::relay::pd
