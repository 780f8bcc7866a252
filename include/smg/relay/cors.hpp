#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <smg/http/message.hpp>

namespace smg::relay {

/// What one response tells browsers about who may read it. Refers to the policy.
struct CorsAnswer {
  std::string_view allow_origin = "*";    ///< empty: no field
  std::string_view expose_headers = "*";  ///< goes with the former
  bool varies = false;                    ///< the answer depends on Origin
};

/// Which pages may call the gateway from a browser (Fetch standard; spec, shell 5.4, ruling 28).
/// Credentials of browsers (cookies) are never asked for. Constant once made; thread-safe.
class CorsPolicy {
 public:
  /// None, or `*` among them: any origin. Others compare byte for byte.
  explicit CorsPolicy(const std::vector<std::string>& allowed_origins);

  [[nodiscard]] CorsAnswer answer(const http::RequestHead& request) const noexcept;

  /// What a preflight may ask for; empty for origins that may not. The views point into this.
  struct Permission {
    std::string methods;
    std::string headers;
    [[nodiscard]] http::Fields fields() const;
  };
  [[nodiscard]] Permission permission(const http::RequestHead& preflight) const;

 private:
  std::vector<std::string> origins_;  ///< empty: any
};

/// Whether a request is a preflight and not some other OPTIONS.
[[nodiscard]] bool is_preflight(const http::RequestHead& request) noexcept;

}  // namespace smg::relay
