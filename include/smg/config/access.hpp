#pragma once

#include <string>

namespace smg::config {

/// Who may call what (spec, shell section 5).
struct Access {
  std::string api_key;  ///< --api-key, a secret; empty: nobody is asked for one
};

}  // namespace smg::config
