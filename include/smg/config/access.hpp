#pragma once

#include <string>
#include <vector>

namespace smg::config {

/// Who may call what (spec, shell section 5).
struct Access {
  std::string api_key;  ///< --api-key, a secret; empty: nobody is asked for one
  /// --cors-allowed-origins; empty or with a `*`: pages of any origin may call.
  std::vector<std::string> cors_allowed_origins;
};

}  // namespace smg::config
