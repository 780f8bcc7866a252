#pragma once

#include <memory>
#include <span>
#include <string>

#include <openssl/ssl.h>

#include <smg/net/byte_stream.hpp>
#include <smg/net/io_thread.hpp>

namespace smg::net {

struct FreeSsl {
  void operator()(SSL* ssl) const noexcept { SSL_free(ssl); }
};
using SslPtr = std::unique_ptr<SSL, FreeSsl>;

struct FreeSslContext {
  void operator()(SSL_CTX* context) const noexcept { SSL_CTX_free(context); }
};
using SslContextPtr = std::unique_ptr<SSL_CTX, FreeSslContext>;

/// TLS over a byte stream. OpenSSL reads and writes the stream below itself, as far as that goes
/// without waiting, so that readiness means the same on both, and an idle stream holds no buffer.
class TlsStream final : public ByteStream, private StreamObserver {
 public:
  /// `ssl` is set to connect or accept, and has no BIO yet.
  TlsStream(IoThread& thread, SslPtr ssl, std::unique_ptr<ByteStream> below);
  ~TlsStream() override;

  /// Goes on with the handshake. Done: it has succeeded. WouldBlock: call again behind
  /// `on_readable` or `on_writable`.
  [[nodiscard]] IoResult handshake() noexcept;
  [[nodiscard]] SSL& ssl() noexcept { return *ssl_; }

  // ByteStream
  void observe(StreamObserver* observer) noexcept override;
  IoResult read(std::span<char> into) noexcept override;
  /// What was not taken has to come first in the next call: part of it may be encrypted already.
  IoResult write(std::span<const iovec> from) noexcept override;
  void await_readable() override;
  void await_writable() override;
  void await_end() override { below_->await_end(); }
  bool quiet() noexcept override;
  bool peer_ended() noexcept override { return below_->peer_ended(); }
  bool has_undelivered() noexcept override { return below_->has_undelivered(); }
  void shutdown_write() noexcept override;
  void close() noexcept override;
  void reset_on_close() noexcept override;
  int release() noexcept override { return -1; }

 private:
  // StreamObserver
  void on_readable() override;
  void on_writable() override;

  // What OpenSSL calls.
  static BIO_METHOD* bio_method();
  static int write_below(BIO* bio, const char* bytes, int size) noexcept;
  static int read_below(BIO* bio, char* into, int size) noexcept;
  static long control_below(BIO* bio, int command, long, void*) noexcept;

  [[nodiscard]] IoResult outcome(int code) noexcept;
  [[nodiscard]] bool holds_input() const noexcept;

  IoThread& thread_;
  std::unique_ptr<ByteStream> below_;
  SslPtr ssl_;
  StreamObserver* observer_ = nullptr;
  bool starved_ = false;           ///< OpenSSL needs more from below before it has anything to give
  bool reads_by_writing_ = false;  ///< a read waits until something of its own can be sent
  bool below_ended_ = false;
  bool ending_ = false;  ///< the peer is still to be told of our end
  bool cut_ = false;     ///< and must not be told
  bool failed_ = false;
  std::shared_ptr<TlsStream*> self_;  ///< for messages that may arrive behind the stream's end
};

/// The reason at the top of OpenSSL's error queue, which is emptied.
[[nodiscard]] std::string last_tls_error();

/// The list of protocols as ALPN sends it: each with its length in front.
[[nodiscard]] std::string alpn_list(std::span<const std::string> protocols);

/// Drives the handshake of a stream to its end, `timeout` or `abort`, and stops observing it.
/// WouldBlock: it was given up.
[[nodiscard]] Task<IoResult> shake_hands(IoThread& thread, TlsStream& stream, Duration timeout,
                                         AbortSwitch& abort);

/// The protocol that ALPN has chosen; empty: none.
[[nodiscard]] std::string chosen_protocol(TlsStream& stream);

}  // namespace smg::net
