#pragma once

#include <cstdint>

namespace smg::config {

/// How requests find their workers.
enum class RouterMode : std::uint8_t {
  Regular,     ///< each worker serves requests whole
  MultiModel,  ///< by the model of the body, whatever kind of workers it has
};

/// The flags that choose the mode, and what only some modes look at.
struct Modes {
  bool multi_model = false;  ///< --enable-igw

  [[nodiscard]] RouterMode router() const noexcept {
    return multi_model ? RouterMode::MultiModel : RouterMode::Regular;
  }
};

}  // namespace smg::config
