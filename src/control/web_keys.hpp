#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <smg/base/result.hpp>

namespace smg::control {

/// What became of a token's signature.
struct CheckedToken {
  std::optional<std::string> payload;  ///< the claims as JSON; nothing: the token is no good
  std::string_view fault;              ///< why, in words that repeat nothing of the token
  bool unknown_key = false;            ///< its key is not in the set; a newer set may have it
};

/// The public keys of a token issuer (RFC 7517), constant once made; thread-safe.
class WebKeys {
 public:
  /// Reads a key set. What is of no use here is left out: keys without an id, for other purposes
  /// than signatures, RSA below 2048 bits, curves other than P-256 and P-384. Errors: no key set.
  [[nodiscard]] static Result<std::shared_ptr<const WebKeys>> parse(std::string_view json);

  ~WebKeys();
  WebKeys(const WebKeys&) = delete;
  WebKeys& operator=(const WebKeys&) = delete;

  [[nodiscard]] std::size_t size() const noexcept;

  /// Checks the signature of a token in compact form (RFC 7515). The token names its key; the key,
  /// not the token, says which algorithms may be used: RS256, RS384, RS512, or the ES256 or ES384
  /// of its curve (RFC 8725 3.1).
  [[nodiscard]] CheckedToken check(std::string_view token) const;

 private:
  struct Key;
  WebKeys();

  std::vector<Key> keys_;
};

/// Whether a credential is to be judged as a token: three parts with dots between.
[[nodiscard]] bool looks_like_token(std::string_view credential) noexcept;

}  // namespace smg::control
