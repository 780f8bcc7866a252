#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

namespace smg::control {

inline std::string base64url(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string out;
  unsigned bits = 0;
  unsigned held = 0;
  for (const char c : bytes) {
    bits = bits << 8 | static_cast<unsigned char>(c);
    for (held += 8; held >= 6; held -= 6) out += kDigits[bits >> (held - 6) & 63];
  }
  if (held > 0) out += kDigits[bits << (6 - held) & 63];
  return out;
}

/// An issuer's key pair, made for the test.
class TokenMaker {
 public:
  static TokenMaker rsa(unsigned bits = 2048) { return TokenMaker(EVP_RSA_gen(bits)); }
  static TokenMaker ec(const char* curve) { return TokenMaker(EVP_EC_gen(curve)); }

  /// The public key as JSON; `more` is put in as it is, such as `,"use":"sig"`.
  [[nodiscard]] std::string jwk(std::string_view id, std::string_view more = {}) const {
    std::string json = R"({"kid":")" + std::string(id) + "\"" + std::string(more);
    if (EVP_PKEY_is_a(key_.get(), "RSA") == 1) {
      return json + R"(,"kty":"RSA","n":")" + number(OSSL_PKEY_PARAM_RSA_N) + R"(","e":")" +
             number(OSSL_PKEY_PARAM_RSA_E) + "\"}";
    }
    const std::string curve = "P-" + std::to_string(EVP_PKEY_get_bits(key_.get()));
    return json + R"(,"kty":"EC","crv":")" + curve + R"(","x":")" +
           number(OSSL_PKEY_PARAM_EC_PUB_X) + R"(","y":")" + number(OSSL_PKEY_PARAM_EC_PUB_Y) +
           "\"}";
  }

  /// A token in compact form, signed with SHA-`bits`.
  [[nodiscard]] std::string token(std::string_view header, std::string_view claims,
                                  int bits = 256) const {
    const std::string text = base64url(header) + "." + base64url(claims);
    return text + "." + base64url(signature(text, bits));
  }

 private:
  struct Free {
    void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
    void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
    void operator()(BIGNUM* n) const noexcept { BN_free(n); }
    void operator()(ECDSA_SIG* signature) const noexcept { ECDSA_SIG_free(signature); }
  };

  explicit TokenMaker(EVP_PKEY* key) : key_(key) { EXPECT_NE(key, nullptr); }

  [[nodiscard]] std::size_t field_bytes() const {
    return static_cast<std::size_t>((EVP_PKEY_get_bits(key_.get()) + 7) / 8);
  }

  [[nodiscard]] std::string number(const char* name) const {
    BIGNUM* found = nullptr;
    EXPECT_EQ(EVP_PKEY_get_bn_param(key_.get(), name, &found), 1) << name;
    const std::unique_ptr<BIGNUM, Free> owned(found);
    const bool is_rsa = EVP_PKEY_is_a(key_.get(), "RSA") == 1;
    return base64url(bytes_of(found, is_rsa ? 0 : field_bytes()));
  }

  static std::string bytes_of(const BIGNUM* n, std::size_t least) {
    std::string bytes(std::max(least, static_cast<std::size_t>(BN_num_bytes(n))), '\0');
    BN_bn2binpad(n, reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(bytes.size()));
    return bytes;
  }

  [[nodiscard]] std::string signature(const std::string& text, int bits) const {
    const std::unique_ptr<EVP_MD_CTX, Free> context(EVP_MD_CTX_new());
    const std::string digest = "SHA" + std::to_string(bits);
    EVP_DigestSignInit_ex(context.get(), nullptr, digest.c_str(), nullptr, nullptr, key_.get(),
                          nullptr);
    const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
    std::size_t size = 0;
    EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size());
    std::vector<unsigned char> made(size);
    EXPECT_EQ(EVP_DigestSign(context.get(), made.data(), &size, bytes, text.size()), 1);
    if (EVP_PKEY_is_a(key_.get(), "RSA") == 1)
      return {made.begin(), made.begin() + static_cast<std::ptrdiff_t>(size)};
    // RFC 7518 3.4: both numbers at full width, without the framing of ASN.1.
    const unsigned char* at = made.data();
    const std::unique_ptr<ECDSA_SIG, Free> pair(
        d2i_ECDSA_SIG(nullptr, &at, static_cast<long>(size)));
    return bytes_of(ECDSA_SIG_get0_r(pair.get()), field_bytes()) +
           bytes_of(ECDSA_SIG_get0_s(pair.get()), field_bytes());
  }

  std::unique_ptr<EVP_PKEY, Free> key_;
};

}  // namespace smg::control
