#include <array>
#include <mutex>
#include <stdexcept>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "net/tls_stream.hpp"
#include <smg/net/tls_server.hpp>
#include <smg/observability/log.hpp>

namespace smg::net {
namespace {

/// For TLS 1.2: forward secrecy and authenticated encryption only, which is also what HTTP/2 allows
/// (RFC 9113 9.2.2). All of TLS 1.3 are such.
constexpr const char* kCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

/// Picks the first protocol of ours that the client offers.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size,
                    const unsigned char* offered, unsigned offered_size, void*) {
  static const std::string preferred = alpn_list(std::array<std::string, 2>{"h2", "http/1.1"});
  unsigned char* picked = nullptr;
  const int found =
      SSL_select_next_proto(&picked, size, reinterpret_cast<const unsigned char*>(preferred.data()),
                            static_cast<unsigned>(preferred.size()), offered, offered_size);
  *chosen = picked;
  // Nothing in common: the client is to know (RFC 7301 3.2).
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/// A passphrase cannot be asked for: an encrypted key is an error.
int no_passphrase(char*, int, int, void*) {
  return 0;
}

void use_files(SSL_CTX* context, const TlsServerSettings& settings) {
  if (SSL_CTX_use_certificate_chain_file(context, settings.cert_path.c_str()) != 1) {
    throw std::runtime_error("Failed to read server certificate from " + settings.cert_path + ": " +
                             last_tls_error());
  }
  if (SSL_CTX_use_PrivateKey_file(context, settings.key_path.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context) != 1) {
    throw std::runtime_error("Failed to create TLS config: the key " + settings.key_path +
                             " cannot be used: " + last_tls_error());
  }
}

SslContextPtr make_context(const TlsServerSettings& settings) {
  SslContextPtr made(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* context = made.get();
  if (context == nullptr || SSL_CTX_set_cipher_list(context, kCiphers) != 1) {
    throw std::runtime_error("Failed to create TLS config: " + last_tls_error());
  }
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // Sessions are resumed by the tickets that clients keep, under keys of this context.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  SSL_CTX_set_default_passwd_cb(context, no_passphrase);
  use_files(context, settings);
  return made;
}

}  // namespace

struct TlsServer::State {
  std::mutex mutex;
  SslContextPtr context;

  /// Each connection keeps the context that it began with.
  [[nodiscard]] SslPtr new_ssl() {
    const std::lock_guard lock(mutex);
    return SslPtr(SSL_new(context.get()));
  }
};

TlsServer::TlsServer(TlsServerSettings settings)
    : settings_(std::move(settings)), state_(std::make_unique<State>()) {
  state_->context = make_context(settings_);
}

TlsServer::~TlsServer() = default;

void TlsServer::reload() {
  SslContextPtr fresh = make_context(settings_);
  const std::lock_guard lock(state_->mutex);
  state_->context.swap(fresh);
}

Task<std::unique_ptr<ByteStream>> TlsServer::accept(IoThread& thread,
                                                    std::unique_ptr<ByteStream> tcp,
                                                    Duration timeout, AbortSwitch& abort) {
  SslPtr ssl = state_->new_ssl();
  if (!ssl) co_return nullptr;
  SSL_set_accept_state(ssl.get());
  auto stream = std::make_unique<TlsStream>(thread, std::move(ssl), std::move(tcp));
  const IoResult result = co_await shake_hands(thread, *stream, timeout, abort);
  if (result.status == IoResult::Status::Done) co_return stream;
  const bool given_up = result.status == IoResult::Status::WouldBlock;
  observability::log_debug("TLS handshake with a client failed",
                           {{"reason", given_up ? std::string("given up") : last_tls_error()}});
  co_return nullptr;
}

}  // namespace smg::net
