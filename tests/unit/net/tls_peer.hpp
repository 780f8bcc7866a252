#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "support/raw_socket.hpp"

/// The other end of the gateway's TLS: certificates made on the spot, and a blocking client.
namespace smg::net {

/// A folder that goes with the test.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / "smg-tls-XXXXXX") {
    std::string name = path_.string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::string file(const std::string& name) const { return path_ / name; }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name)) << text;
  }

 private:
  std::filesystem::path path_;
};

/// Writes a self-signed certificate for `name` to NAME.pem, its key to NAME.key.
inline void make_certificate(const Folder& folder, const std::string& name) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(X509_new(), X509_free);
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 3600);
  X509_set_pubkey(certificate.get(), key.get());
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), subject);
  X509_sign(certificate.get(), key.get(), EVP_sha256());
  const auto open = [&](const std::string& file) { return BIO_new_file(file.c_str(), "w"); };
  const std::unique_ptr<BIO, decltype(&BIO_free)> pem(open(folder.file(name + ".pem")), BIO_free);
  PEM_write_bio_X509(pem.get(), certificate.get());
  const std::unique_ptr<BIO, decltype(&BIO_free)> pem_key(open(folder.file(name + ".key")),
                                                          BIO_free);
  PEM_write_bio_PrivateKey(pem_key.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
}

/// A TLS client on a blocking socket. It believes every certificate.
class TlsPeer {
 public:
  struct Settings {
    int version = 0;     ///< 0: any
    std::string alpn{};  ///< as it is sent
    SSL_SESSION* resume = nullptr;
  };

  TlsPeer(test::RawSocket socket, const Settings& settings)
      : socket_(std::move(socket)),
        context_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free),
        ssl_(nullptr, SSL_free) {
    SSL_CTX_set_security_level(context_.get(), 0);
    if (settings.version != 0) {
      SSL_CTX_set_min_proto_version(context_.get(), settings.version);
      SSL_CTX_set_max_proto_version(context_.get(), settings.version);
    }
    ssl_.reset(SSL_new(context_.get()));
    if (!settings.alpn.empty()) {
      SSL_set_alpn_protos(ssl_.get(), reinterpret_cast<const unsigned char*>(settings.alpn.data()),
                          static_cast<unsigned>(settings.alpn.size()));
    }
    if (settings.resume != nullptr) SSL_set_session(ssl_.get(), settings.resume);
    SSL_set_fd(ssl_.get(), socket_.descriptor());
  }

  /// True: the handshake has succeeded.
  [[nodiscard]] bool connect() {
    ERR_clear_error();
    return SSL_connect(ssl_.get()) == 1;
  }

  void send(std::string_view bytes) {
    if (SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) <= 0) {
      throw std::runtime_error("SSL_write");
    }
  }

  [[nodiscard]] std::string receive() {
    char buffer[65536];
    ERR_clear_error();
    const int n = SSL_read(ssl_.get(), buffer, sizeof buffer);
    if (n <= 0) ended_well_ = SSL_get_error(ssl_.get(), n) == SSL_ERROR_ZERO_RETURN;
    return n > 0 ? std::string(buffer, static_cast<std::size_t>(n)) : std::string();
  }

  [[nodiscard]] std::string receive_rest() {
    std::string bytes;
    for (std::string more = receive(); !more.empty(); more = receive()) bytes += more;
    return bytes;
  }

  /// Whether the last receive found the peer's close_notify.
  [[nodiscard]] bool ended_well() const noexcept { return ended_well_; }
  void finish_sending() { SSL_shutdown(ssl_.get()); }
  void close() { socket_.close(); }

  [[nodiscard]] SSL* ssl() noexcept { return ssl_.get(); }
  [[nodiscard]] test::RawSocket& socket() noexcept { return socket_; }

  [[nodiscard]] std::string protocol() const {
    const unsigned char* chosen = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl_.get(), &chosen, &size);
    return {reinterpret_cast<const char*>(chosen), size};
  }

  /// The name on the certificate that the gateway has shown.
  [[nodiscard]] std::string name_seen() const {
    char name[64] = {};
    X509_NAME_get_text_by_NID(X509_get_subject_name(SSL_get0_peer_certificate(ssl_.get())),
                              NID_commonName, name, sizeof name);
    return name;
  }

 private:
  test::RawSocket socket_;
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_;
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
  bool ended_well_ = false;
};

}  // namespace smg::net
