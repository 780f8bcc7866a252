#pragma once

#include <memory>
#include <string>
#include <vector>

#include <smg/base/result.hpp>
#include <smg/net/byte_stream.hpp>
#include <smg/net/io_thread.hpp>

namespace smg::net {

/// How the gateway speaks TLS to workers.
struct TlsClientSettings {
  std::vector<std::string> ca_cert_paths;  ///< PEM, besides the system's store
  std::string client_cert_path;            ///< PEM chain; with `client_key_path` or not at all
  std::string client_key_path;
  bool trust_system = true;  ///< false: `ca_cert_paths` alone
};

/// The TLS side of connections to workers: verification, the client certificate, and the sessions
/// to resume. Thread-safe once made.
class TlsClient {
 public:
  /// Throws std::runtime_error for files that cannot be read or do not fit together.
  explicit TlsClient(const TlsClientSettings& settings);
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  /// A connection on which the handshake has succeeded, and the protocol that ALPN chose; empty:
  /// none.
  struct Connected {
    std::unique_ptr<ByteStream> stream;
    std::string protocol;
  };

  /// Takes a connected TCP stream through the handshake: TLS 1.2 or later, `host` by SNI and
  /// matched against the certificate, `protocols` offered by ALPN. Errors: UpstreamTimeout after
  /// `timeout`, Aborted, UpstreamConnect with the reason for all the rest.
  [[nodiscard]] Task<Result<Connected>> handshake(IoThread& thread, std::unique_ptr<ByteStream> tcp,
                                                  std::string host, std::uint16_t port,
                                                  std::vector<std::string> protocols,
                                                  Duration timeout, AbortSwitch& abort);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace smg::net
