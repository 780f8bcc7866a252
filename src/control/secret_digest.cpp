#include "control/secret_digest.hpp"

#include <cstdlib>

#include <openssl/crypto.h>
#include <openssl/evp.h>

namespace smg::control {

SecretDigest::SecretDigest(std::string_view secret) noexcept {
  // Looked up once: it costs more than a digest.
  static EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  const int done =
      EVP_Digest(secret.data(), secret.size(), bytes_.data(), nullptr, sha256, nullptr);
  // Two digests that were not made would match.
  if (done != 1) std::abort();
}

bool SecretDigest::matches(const SecretDigest& other) const noexcept {
  return CRYPTO_memcmp(bytes_.data(), other.bytes_.data(), bytes_.size()) == 0;
}

}  // namespace smg::control
