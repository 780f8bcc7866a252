#include <map>
#include <mutex>
#include <stdexcept>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "net/system_trust.hpp"
#include "net/tls_stream.hpp"
#include <smg/net/tls_client.hpp>

namespace smg::net {
namespace {

struct FreeSession {
  void operator()(SSL_SESSION* session) const noexcept { SSL_SESSION_free(session); }
};
using SessionPtr = std::unique_ptr<SSL_SESSION, FreeSession>;

bool is_ip_literal(const std::string& host) {
  return host.find(':') != std::string::npos ||
         host.find_first_not_of("0123456789.") == std::string::npos;
}

}  // namespace

struct TlsClient::State {
  SslContextPtr context;
  std::optional<SystemTrust> system_trust;  ///< none: it is not trusted
  std::mutex mutex;
  std::map<std::string, SessionPtr> sessions;  ///< to resume, by host, port and protocol

  /// Where a connection keeps the key of its session: tickets of TLS 1.3 arrive long after the
  /// handshake.
  static int key_index() {
    static const int index = SSL_get_ex_new_index(
        0, nullptr, nullptr, nullptr, [](void*, void* key, CRYPTO_EX_DATA*, int, long, void*) {
          delete static_cast<std::string*>(key);
        });
    return index;
  }

  /// OpenSSL's callback for a session that can be resumed later; keeps the reference it is given.
  static int keep_session(SSL* ssl, SSL_SESSION* session) {
    auto* state = static_cast<State*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
    const auto* key = static_cast<const std::string*>(SSL_get_ex_data(ssl, key_index()));
    if (state == nullptr || key == nullptr) return 0;
    const std::lock_guard lock(state->mutex);
    state->sessions[*key] = SessionPtr(session);
    return 1;
  }

  void resume(SSL* ssl, const std::string& key) {
    const std::lock_guard lock(mutex);
    const auto found = sessions.find(key);
    if (found != sessions.end()) SSL_set_session(ssl, found->second.get());
  }
};

TlsClient::TlsClient(const TlsClientSettings& settings) : state_(std::make_unique<State>()) {
  state_->context.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX* context = state_->context.get();
  if (context == nullptr) throw std::runtime_error("cannot set up TLS: " + last_tls_error());
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  // A renegotiation would have writes wait for reads that nobody is making.
  SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  if (settings.trust_system) state_->system_trust.emplace();
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(context, State::keep_session);
  SSL_CTX_set_app_data(context, state_.get());
  for (const std::string& path : settings.ca_cert_paths) {
    if (SSL_CTX_load_verify_locations(context, path.c_str(), nullptr) != 1) {
      throw std::runtime_error("Failed to read CA certificates from " + path + ": " +
                               last_tls_error());
    }
  }
  if (settings.client_cert_path.empty()) return;
  if (SSL_CTX_use_certificate_chain_file(context, settings.client_cert_path.c_str()) != 1) {
    throw std::runtime_error("Failed to read the client certificate from " +
                             settings.client_cert_path + ": " + last_tls_error());
  }
  if (SSL_CTX_use_PrivateKey_file(context, settings.client_key_path.c_str(), SSL_FILETYPE_PEM) !=
          1 ||
      SSL_CTX_check_private_key(context) != 1) {
    throw std::runtime_error("Failed to read the client key from " + settings.client_key_path +
                             ": " + last_tls_error());
  }
}

TlsClient::~TlsClient() = default;

Task<Result<TlsClient::Connected>> TlsClient::handshake(IoThread& thread,
                                                        std::unique_ptr<ByteStream> tcp,
                                                        std::string host, std::uint16_t port,
                                                        std::vector<std::string> protocols,
                                                        Duration timeout, AbortSwitch& abort) {
  SSL_CTX* context = state_->context.get();
  if (auto& trust = state_->system_trust; trust && !trust->loaded()) {
    co_await trust->load(*context, thread, abort);
    if (abort.aborted()) co_return fail(ErrorCode::Aborted);
  }
  SslPtr ssl(SSL_new(context));
  if (!ssl) co_return fail(ErrorCode::LocalResources, "cannot set up TLS");
  const std::string offer = alpn_list(protocols);
  const std::string key = host + ":" + std::to_string(port) + "/" + offer;
  SSL_set_connect_state(ssl.get());
  SSL_set_alpn_protos(ssl.get(), reinterpret_cast<const unsigned char*>(offer.data()),
                      static_cast<unsigned>(offer.size()));
  if (is_ip_literal(host)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl.get()), host.c_str());
  } else {
    SSL_set1_host(ssl.get(), host.c_str());
    SSL_set_tlsext_host_name(ssl.get(), host.c_str());
  }
  SSL_set_ex_data(ssl.get(), State::key_index(), new std::string(key));
  state_->resume(ssl.get(), key);

  auto stream = std::make_unique<TlsStream>(thread, std::move(ssl), std::move(tcp));
  const IoResult result = co_await shake_hands(thread, *stream, timeout, abort);
  if (abort.aborted()) co_return fail(ErrorCode::Aborted);
  if (result.status == IoResult::Status::WouldBlock) {
    co_return fail(ErrorCode::UpstreamTimeout, "Timed out in the TLS handshake with the worker");
  }
  if (result.status != IoResult::Status::Done) {
    const long verdict = SSL_get_verify_result(&stream->ssl());
    const std::string reason =
        verdict != X509_V_OK ? X509_verify_cert_error_string(verdict) : last_tls_error();
    co_return fail(ErrorCode::UpstreamConnect,
                   "The TLS handshake with the worker failed: " + reason);
  }
  Connected connected;
  connected.protocol = chosen_protocol(*stream);
  connected.stream = std::move(stream);
  co_return connected;
}

}  // namespace smg::net
