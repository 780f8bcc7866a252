#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace smg::config {

/// How requests find their workers.
enum class RouterMode : std::uint8_t {
  Regular,        ///< each worker serves requests whole
  PrefillDecode,  ///< each request is shared by a prefill and a decode worker
  MultiModel,     ///< by the model of the body, whatever kind of workers it has
};

struct PrefillUrl {
  std::string url;                              ///< normalised
  std::optional<std::uint16_t> bootstrap_port;  ///< none: not told to the workers

  bool operator==(const PrefillUrl&) const = default;
};

/// The flags that choose the mode, and what only some modes look at.
struct Modes {
  bool multi_model = false;         ///< --enable-igw
  bool prefill_decode = false;      ///< --pd-disaggregation
  std::vector<PrefillUrl> prefill;  ///< --prefill
  std::vector<std::string> decode;  ///< --decode, normalised
  std::string prefill_policy;       ///< --prefill-policy; empty: that of --policy
  std::string decode_policy;        ///< --decode-policy; empty: that of --policy

  [[nodiscard]] RouterMode router() const noexcept {
    if (multi_model) return RouterMode::MultiModel;
    return prefill_decode ? RouterMode::PrefillDecode : RouterMode::Regular;
  }
};

}  // namespace smg::config
