#pragma once

#include <array>
#include <string_view>

namespace smg::control {

/// The SHA-256 digest of a secret. Digests are compared in place of secrets, in constant time, so
/// that an answer's delay tells nothing about them, their length included.
class SecretDigest {
 public:
  explicit SecretDigest(std::string_view secret) noexcept;

  [[nodiscard]] bool matches(const SecretDigest& other) const noexcept;

 private:
  std::array<unsigned char, 32> bytes_{};
};

}  // namespace smg::control
