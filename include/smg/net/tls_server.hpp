#pragma once

#include <memory>
#include <string>

#include <smg/base/result.hpp>
#include <smg/net/byte_stream.hpp>
#include <smg/net/io_thread.hpp>

namespace smg::net {

/// What the gateway shows its clients.
struct TlsServerSettings {
  std::string cert_path;  ///< PEM: the certificate, and those that lead to its authority
  std::string key_path;   ///< PEM
};

/// TLS towards clients: version 1.2 or 1.3, HTTP/2 or HTTP/1.1 by ALPN. Thread-safe.
class TlsServer {
 public:
  /// Reads the files: throws std::runtime_error, naming the file, if they cannot be used.
  explicit TlsServer(TlsServerSettings settings);
  ~TlsServer();
  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  /// Reads the files again, for handshakes from now on. Throws as the constructor does, and goes
  /// on with what it had. Blocks: not for io threads.
  void reload();

  /// Shakes hands with a client. nullptr: it does not speak TLS, or is not through by `timeout`
  /// (zero: no limit), or `abort` ended it.
  [[nodiscard]] Task<std::unique_ptr<ByteStream>> accept(IoThread& thread,
                                                         std::unique_ptr<ByteStream> tcp,
                                                         Duration timeout, AbortSwitch& abort);

 private:
  struct State;
  const TlsServerSettings settings_;
  std::unique_ptr<State> state_;
};

}  // namespace smg::net
